"""Three everyday plans beside the same jobs as playbooks, on a real Debian each."""
