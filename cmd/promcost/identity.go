package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/promcost/promcost/allocation/singleflight"
)

// identity is an id that is looked up when it is first needed. Callers that need it at the same time share one look-up, also if
// that fails: it takes several tries, and seconds, which are not spent again for each of them. It is safe for concurrent use.
type identity struct {
	// fetch returns the id, or with an error the id to use instead. Neither is empty.
	fetch func(ctx context.Context) (string, error)

	asking singleflight.Group[struct{}, string]
	mu     sync.Mutex
	id     string // empty until it is known
}

// known is the id, empty until it is known.
func (x *identity) known() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.id
}

// get returns the id. If asking for it fails, it returns the id to use instead with the error, and the next call asks again.
func (x *identity) get(ctx context.Context) (string, error) {
	if id := x.known(); id != "" {
		return id, nil
	}
	id, leave, err := x.asking.Do(ctx, struct{}{}, x.inquire)
	leave()
	if id == "" {
		return "", fmt.Errorf("wait for the cluster's id: %w", err)
	}
	return id, err
}

// inquire asks for the id, unless a question that has just ended found it.
func (x *identity) inquire(ctx context.Context) (string, error) {
	if id := x.known(); id != "" {
		return id, nil
	}
	id, err := x.fetch(ctx)
	if err == nil {
		x.mu.Lock()
		x.id = id
		x.mu.Unlock()
	}
	return id, err
}
