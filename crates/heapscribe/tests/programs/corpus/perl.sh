exec perl -e '
my %words;
for my $n (1 .. 20000) { push @{$words{join "", map { chr(97 + ($n * $_) % 26) } 1 .. 4}}, $n }
print join(" ", map { "$_=" . scalar(@{$words{$_}}) } sort keys %words), "\n";
my $text = join ",", map { "item$_" x ($_ % 7) } 1 .. 20000;
my $count = () = $text =~ /item(\d+)item\1/g;
print length($text), " $count\n";
if (my $pid = fork) { waitpid $pid, 0; print "child ", $? >> 8, "\n" } else { my @a = map { [1 .. 9] } 1 .. 9999; exit 5 }
'
