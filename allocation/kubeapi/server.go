package kubeapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Defaults of Config.
const (
	DefaultMaxMemory = 512 << 20
	DefaultPoll      = 15 * time.Second
	DefaultBookmarks = time.Minute
	DefaultPatience  = 10 * time.Second
	DefaultTimeout   = 5 * time.Minute
)

// Config sets up a Server. Zero fields take the defaults.
type Config struct {
	// MaxMemory bounds the bytes of all snapshots that are kept, as estimated. A single one may take half of it, and so may the objects of
	// all lists that are being sent.
	MaxMemory int64
	// Poll is how often promcost is asked which hour is closed.
	Poll time.Duration
	// Bookmarks is how often watches get a bookmark.
	Bookmarks time.Duration
	// Patience bounds how long a reading waits for what its answer can do without: how costs changed, and why there are none.
	Patience time.Duration
	// Timeout bounds a reading of a snapshot. It goes on when the request that wanted it has ended: the next finds it done.
	Timeout time.Duration
}

func (c Config) withDefaults() Config {
	c.MaxMemory = cmp.Or(max(c.MaxMemory, 0), DefaultMaxMemory)
	c.Poll = cmp.Or(max(c.Poll, 0), DefaultPoll)
	c.Bookmarks = cmp.Or(max(c.Bookmarks, 0), DefaultBookmarks)
	c.Patience = cmp.Or(max(c.Patience, 0), DefaultPatience)
	c.Timeout = cmp.Or(max(c.Timeout, 0), DefaultTimeout)
	return c
}

// Bounds of snapshots that are being read.
const (
	maxReadings = 2   // at a time
	maxWaiting  = 100 // with those that wait
	perSnapshot = 4 << 10
)

// Server keeps snapshots of the newest closed hour. It is safe for concurrent use.
type Server struct {
	client *Client
	cfg    Config
	reads  chan struct{} // holds an element for each snapshot that is being read

	mu      sync.Mutex
	state   state
	polled  time.Time     // when promcost last said what state is; zero before
	changed chan struct{} // closed when a new hour is
	entries map[key]*entry
	clock   int64 // counts uses of entries
	waiting int   // snapshots that are read or wait for that
	sending int64 // bytes of the objects of lists that are being sent
}

// entry is a snapshot that is kept or being read.
type entry struct {
	version  int64
	done     chan struct{} // closed once the two below are known
	snapshot *snapshot
	err      error
	used     int64 // by the server's clock
	watches  int   // that have it: it stays in memory even if it is not kept
}

// NewServer returns a server of what a promcost answers. Run keeps it up to date.
func NewServer(client *Client, cfg Config) *Server {
	return &Server{client: client, cfg: cfg.withDefaults(), reads: make(chan struct{}, maxReadings), changed: make(chan struct{}), entries: map[key]*entry{}}
}

// Run asks promcost again and again which hour is closed, until ctx ends. failed is called with each error.
func (s *Server) Run(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(s.cfg.Poll)
	defer tick.Stop()
	for {
		if err := s.poll(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pollTimeout bounds how long promcost may take to say its state.
const pollTimeout = 10 * time.Second

// poll asks promcost for its state, and wakes watches when a new hour is closed.
func (s *Server) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	st, err := s.client.state(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polled = time.Now()
	if st.closed.Before(s.state.closed) {
		return nil // another replica of promcost that is behind: objects never go back
	}
	newer := st.closed.After(s.state.closed)
	s.state = st
	if newer {
		for k, e := range s.entries {
			if e.version < st.version() {
				delete(s.entries, k)
			}
		}
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return nil
}

// now is promcost's state, and a channel that is closed when a newer hour is.
func (s *Server) now(ctx context.Context) (state, <-chan struct{}, error) {
	s.mu.Lock()
	fresh := !s.polled.IsZero() && time.Since(s.polled) < 3*s.cfg.Poll
	s.mu.Unlock()
	if !fresh {
		if err := s.poll(ctx); err != nil {
			return state{}, nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed, nil
}

// get is the snapshot of a key in the newest closed hour. Equal requests wait for one reading.
func (s *Server) get(ctx context.Context, k key, read func(context.Context, *reading) error) (*entry, error) {
	st, _, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	e := s.entries[k]
	if e == nil && k.namespace != "" { // all namespaces may be there
		all := k
		all.namespace = ""
		if whole := s.entries[all]; whole != nil && whole.snapshot != nil {
			e = whole
		}
	}
	if e == nil || e.version != st.version() {
		if s.waiting == maxWaiting {
			s.mu.Unlock()
			return nil, apierrors.NewTooManyRequests("many other windows are being computed: ask again", 10)
		}
		s.waiting++
		e = &entry{version: st.version(), done: make(chan struct{})}
		s.entries[k] = e
		go s.read(context.WithoutCancel(ctx), st, k, e, read)
	}
	s.clock++
	e.used = s.clock
	s.mu.Unlock()
	select {
	case <-e.done:
		return e, e.err
	case <-ctx.Done():
		return nil, apierrors.NewTimeoutError("promcost is still computing: ask again", 10)
	}
}

// read fills an entry. One that fails is forgotten, so that the next request tries again.
func (s *Server) read(ctx context.Context, st state, k key, e *entry, read func(context.Context, *reading) error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	r := &reading{client: s.client, state: st, key: k, limit: s.cfg.MaxMemory / 2, patience: s.cfg.Patience, texts: texts{known: map[string]string{}}}
	var err error
	select {
	case s.reads <- struct{}{}:
		err = read(ctx, r)
		<-s.reads
	case <-ctx.Done():
		err = unavailable("other windows are being computed: ask again")
	}
	slices.SortFunc(r.items, compareItems)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if e.err = err; err == nil {
		e.snapshot = &snapshot{key: k, version: st.version(), items: r.items, warnings: r.warnings, notices: r.notices, bytes: perSnapshot + r.bytes + r.texts.bytes}
		s.shrink()
	} else if s.entries[k] == e {
		delete(s.entries, k)
	}
	close(e.done)
}

// shrink forgets the snapshots that were used longest ago until the others fit. Those that watches have are in memory anyway.
func (s *Server) shrink() {
	for s.kept() > s.cfg.MaxMemory {
		var oldest *entry
		var of key
		for k, e := range s.entries {
			if e.snapshot != nil && e.watches == 0 && (oldest == nil || e.used < oldest.used) {
				oldest, of = e, k
			}
		}
		if oldest == nil {
			return
		}
		delete(s.entries, of)
	}
}

// kept is how many bytes the snapshots take that are kept.
func (s *Server) kept() (bytes int64) {
	for _, e := range s.entries {
		if e.snapshot != nil {
			bytes += e.snapshot.bytes
		}
	}
	return bytes
}

// watched notes that a watch has a snapshot, or has it no more. What all watches have must fit.
func (s *Server) watched(e *entry, by int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by > 0 && e.watches == 0 {
		bytes := e.snapshot.bytes
		for _, other := range s.entries {
			if other.watches > 0 {
				bytes += other.snapshot.bytes
			}
		}
		if bytes > s.cfg.MaxMemory {
			return apierrors.NewTooManyRequests("watches of other windows take all of --cache.max-memory: watch the default window, or one namespace", 60)
		}
	}
	e.watches += by
	return nil
}

// perObject is about how many bytes an object of a list takes until it is sent, besides its item.
const perObject = 3 << 10

// send makes room for the objects of a list, until ctx ends: that is when it has been sent.
func (s *Server) send(ctx context.Context, objects int) error {
	bytes := int64(objects) * perObject
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending > 0 && s.sending+bytes > s.cfg.MaxMemory/2 {
		return apierrors.NewTooManyRequests("other lists take all of the memory for objects: ask again, or with a limit", 1)
	}
	s.sending += bytes
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sending -= bytes
	})
	return nil
}

// versionText is a resourceVersion.
func versionText(version int64) string { return strconv.FormatInt(version, 10) }
