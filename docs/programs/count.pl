# Counts the words of a text and the lines they are on, and prints the most frequent.
use strict;
use warnings;

my (%count, %lines);
while (my $line = <>) {
    for my $word (grep { length } split /\W+/, lc $line) {
        $count{$word}++;
        push @{ $lines{$word} }, $.;
    }
}
my @words = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
printf "%s: %d times on %d lines\n", $_, $count{$_}, scalar @{ $lines{$_} } for @words[0 .. 2];
