# Children, pipes, traps, here documents, arithmetic.
trap 'echo trapped' USR1
for i in 1 2 3 4 5 6 7 8; do
    (echo "$i"; kill -USR1 $$; exec sed 's/3/three/' <<END
line $i of $((i * i))
END
    ) | tr 1-5 a-e
done
text=
i=0
while [ $i -lt 2000 ]; do text="$text$i,"; i=$((i + 1)); done
echo "${#text}"
exit 3
