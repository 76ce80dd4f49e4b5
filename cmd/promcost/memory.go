package main

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation/memory"
)

const (
	// processMemory is the memory of the process in bytes that is not drawn from the budget.
	processMemory = 100 << 20
	// leastMemory is the smallest default of --query.max-memory, littleMemory what large clusters need more than.
	leastMemory  = 32 << 20
	littleMemory = 256 << 20
)

// garbagePercent is how much garbage there may be beside live memory, in percent of it. All rows of 30,000 pods, which may take 354 MB, take up
// to 311 MB with it, and up to 361 MB with the usual 100.
const garbagePercent = 50

// addMemoryFlag adds --query.max-memory.
func addMemoryFlag(g flagGroup, f *costFlags) {
	sizeOf(g, "query.max-memory", "Memory limit for all queries together, including caches. A query that would exceed it is rejected with advice. 0 means no limit. auto is (limit - 100MB) / 1.5, where limit is the memory of the container, else of the machine. GOMEMLIMIT is set to fit, unless the environment has it.", &f.maxMemory).Default(auto)
}

// budget is the memory that all requests share. It sets GOMEMLIMIT until restore is called, and warns if there is little memory.
func (f *costFlags) budget(logger log.Logger) (b *memory.Budget, restore func() error) {
	most := f.maxMemory
	if most == autoSize {
		most = memoryOf(machineMemory())
	}
	was := debug.SetMemoryLimit(-1)
	if most > 0 && was == math.MaxInt64 { // GOMEMLIMIT is not set
		debug.SetMemoryLimit(most*6/5 + processMemory/2)
	}
	if most > 0 && most < littleMemory {
		level.Warn(logger).Log("msg", fmt.Sprintf("Little memory: questions about large clusters or long windows will be refused. Give the container more than %s, or raise --query.max-memory", memory.Text(littleMemory*3/2+processMemory)), "query.max-memory", memory.Text(most))
	}
	return memory.New(most), func() error { debug.SetMemoryLimit(was); return nil }
}

// restAfter is how long after the last question memory is given back to the system.
const restAfter = 30 * time.Second

// rest gives memory back to the system, once after each time in which questions drew some: the collector, which is driven by new garbage,
// leaves it for minutes.
func (s *service) rest(ctx context.Context) error {
	tick := time.NewTicker(restAfter / 10)
	defer tick.Stop()
	resting, changes, since := true, uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if n := s.memory.Stats().Changes; n != changes {
				resting, changes, since = false, n, now
			}
			if !resting && now.Sub(since) >= restAfter {
				debug.FreeOSMemory()
				resting = true
			}
		}
	}
}

// machineMemory is the memory limit of the container, or the machine's memory if that is less or there is no limit; 0 if neither
// is known.
func machineMemory() int64 {
	limit, err := memlimit.FromSystem()
	if err != nil {
		limit = 0
	}
	if own, err := memlimit.FromCgroup(); err == nil && own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	return int64(limit)
}

// memoryOf is the part of a memory limit that requests may take. The rest is for garbage and for uncounted memory. If the limit is
// unknown, it is 2 GB.
func memoryOf(limit int64) int64 {
	if limit == 0 {
		return 2 << 30
	}
	return max((limit-processMemory)*2/3, leastMemory)
}
