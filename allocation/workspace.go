package allocation

import (
	"slices"
	"sync"
)

// workspace is memory that merging rows takes, and the first error of it. One goroutine at a time uses it, for set after set.
type workspace struct {
	groups  grouping
	differ  [NumProperties][]bool // groups of rows that do not have the same
	seen    []bool
	own     []ID
	runs    []int32
	group   []int32 // of identify, with first
	first   []int32
	weights []float64
	err     error
}

// note notes an error.
func (m *workspace) note(err error) {
	if m.err == nil {
		m.err = err
	}
}

// flags are a flag for each property and each of n groups, and those that are dropped: none is set.
func (m *workspace) flags(n int) *[NumProperties][]bool {
	for p := range m.differ {
		m.differ[p] = slices.Grow(m.differ[p][:0], n+1)[:n+1]
		clear(m.differ[p])
	}
	return &m.differ
}

// workspaces are a pool of workspaces. It is safe for concurrent use.
type workspaces struct {
	mu   sync.Mutex
	idle []*workspace
}

// take returns a workspace that nobody uses, a new one if there is none.
func (p *workspaces) take() *workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return &workspace{}
	}
	m := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return m
}

// give puts a workspace back.
func (p *workspaces) give(m *workspace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, m)
}
