"""A prompt for each job that ships."""

from typing import Final

KEY: Final = "AAAAC3NzaC1lZDI1NTE5AAAAIGdXb2Z0aGlzaXNub3RhcmVhbGtleWJ1dGxvbmc0"
"""What follows `ssh-ed25519` in a public key of nobody."""

PROMPTS: Final = {
    "install-postgresql": "install postgresql",
    "postgresql-database": "Create the database shop in PostgreSQL for clerk.",
    "install-nginx": "install nginx and start it at boot",
    "install-redis": "install redis",
    "install-docker": "Install Docker",
    "install-nodejs": "install node.js",
    "systemd-service": "run /srv/tick/run as a service called tick",
    "python-app": "run the python app in /srv/shop as shopd",
    "user-with-key": f"add the user dana with the key ssh-ed25519 {KEY} dana@laptop",
    "firewall": "please set up a firewall for the ports 80,443",
    "swap": "add 2G of swap",
    "time-sync": "synchronize the clock in the time zone Europe/Berlin",
    "unattended-upgrades": "enable automatic security updates",
    "log-rotation": "rotate the logs of /var/log/shop and keep 7 days",
    "backup": "back up /srv/shop every night",
    "disk-cleanup": "clean up the disk",
    "web-server": "set up a web server for shop.test with a certificate",
    "web-server-letsencrypt": (
        "set up nginx for shop.test with Let's Encrypt and the address ops@shop.test"
    ),
    "status-service": "put the status service into operation in /srv/status on port 8080",
}
