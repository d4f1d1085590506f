export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=$PWD GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git init -q -b main repository && cd repository
i=0
while [ $i -lt 30 ]; do
    seq $i $((i * 20)) > "file$((i % 7))"
    git add -A && git commit -q -m "change $i"
    i=$((i + 1))
done
git log --stat | md5sum
git branch other HEAD~5 && git merge -q other && git diff HEAD~10 | md5sum
git blame file3 | md5sum
git gc -q && git fsck --full && git count-objects -v | grep -v size
git clone -q . ../copy && git -C ../copy rev-parse HEAD && git grep -c 1 | sort
