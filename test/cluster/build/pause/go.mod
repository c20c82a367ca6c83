module github.com/rollcall-dev/rollcall/test/cluster/build/pause

go 1.26.0
