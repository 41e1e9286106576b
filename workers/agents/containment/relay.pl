# Carries connections out of a private network to one address; see relay.py.
use strict;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IO::Select;
my ($way, $host, $port) = @ARGV;
$SIG{CHLD} = 'IGNORE';
$SIG{PIPE} = 'IGNORE';
my $listener;
if ($way eq 'in') {
  my $up = pack('a16Sx14', 'lo', 1);
  socket(my $any, AF_INET, SOCK_DGRAM, 0) or exit 1;
  ioctl($any, 0x8914, $up) or exit 1;
  $listener = IO::Socket::INET->new(
    LocalAddr => $host, LocalPort => $port, Listen => 128, ReuseAddr => 1) or exit 1;
  for (1 .. 1000) { last if -e 'gateway'; select(undef, undef, undef, 0.01); }
  syswrite(STDOUT, "listening\n");
} else {
  $listener = IO::Socket::UNIX->new(Local => 'gateway', Listen => 128) or exit 1;
}
while (1) {
  my $near = $listener->accept or next;
  my $child = fork;
  if (!defined $child || $child) { close $near; next; }
  close $listener;
  my $far = $way eq 'in'
    ? IO::Socket::UNIX->new(Peer => 'gateway')
    : IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port);
  exit 1 unless $far;
  my %other = (fileno($near) => $far, fileno($far) => $near);
  my $open = IO::Select->new($near, $far);
  while ($open->count) {
    for my $source ($open->can_read) {
      my $sink = $other{fileno($source)};
      my $read = sysread($source, my $data, 65536);
      if (!$read) { $open->remove($source); shutdown($sink, 1); next; }
      my $at = 0;
      while ($at < $read) {
        my $written = syswrite($sink, $data, $read - $at, $at);
        exit 0 unless defined $written;
        $at += $written;
      }
    }
  }
  exit 0;
}
