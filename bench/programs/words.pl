# Words of a made-up text, counted, joined and sorted: scalars, arrays and hashes that come and go.
use strict;
use warnings;

my $state = 12345;
sub some { my $n = shift; $state = ($state * 1103515245 + 12345) & 0x7fffffff; return ($state >> 8) % $n; }

my @syllables = map { my $c = $_; map { "$c$_" } qw(a e i o u) } qw(b d f g k l m n p r s t);
my (%count, %follows, $total);
for my $line (1 .. 24000) {
    my $text = join ' ', map { join '', map { $syllables[some(60)] } 0 .. some(3) } 1 .. 8;
    my @words = split / /, $text;
    $count{$_}++ for @words;
    push @{ $follows{ $words[$_] } }, $words[$_ + 1] for 0 .. $#words - 1;
    $total += length $text;
}
my $sum = 0;
for my $word (sort keys %follows) {
    my %next;
    $next{ ucfirst $_ }++ for @{ $follows{$word} };
    my $best = (sort { $next{$b} <=> $next{$a} || $a cmp $b } keys %next)[0];
    $sum = ($sum * 31 + length($best) * $next{$best} + $count{$word}) % 1000003;
}
printf "%d words, %d bytes, %d\n", scalar keys %count, $total, $sum;
