package main

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// tidyAfter is how long no further database must have come to rest before memory is returned: they
// often come to rest together.
const tidyAfter = 10 * time.Second

// tidier returns memory to the system after work. At rest hardly anything is allocated, so the
// runtime by itself would keep for minutes what a rollout has needed.
type tidier struct {
	tidy func()

	mu    sync.Mutex
	timer *time.Timer
}

// rested is called when a database has come to rest.
func (t *tidier) rested() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(tidyAfter, t.tidy)
		return
	}
	t.timer.Reset(tidyAfter)
}

// tidy collects garbage, and returns free memory. Each collection halves stacks that have become
// too large; they are small again after three.
func tidy() {
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
}
