{ echo 'digraph g {'; i=0; while [ $i -lt 40 ]; do echo "n$i -> n$((i * 7 % 40)); n$i -> n$((i / 3)) [label=\"e$i\"];"; i=$((i + 1)); done; echo '}'; } > g.dot
dot -Tsvg g.dot -o out/g.svg && dot -Tplain g.dot | md5sum && neato -Tsvg g.dot -o out/n.svg
