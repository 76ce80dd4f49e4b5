package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promcost/promcost/promquery"
)

// A server may have remote read and always fail to answer by it, while its query API works. ModeAuto then uses the query API: for
// the rest of the Select, if nothing of that was passed on, and for a while after. Then it tries remote read again. If both fail,
// the error names both.

// brokenFor is how long remote read that failed is not asked again.
const brokenFor = 10 * time.Minute

// breakage is remote read that failed.
type breakage struct {
	until   time.Time
	warning string // for the answers that were read by the query API because of it
}

// over reports whether to try remote read again. It is false for nil: then remote read is not broken.
func (b *breakage) over() bool { return b != nil && time.Now().After(b.until) }

// fails reports whether err is a failure of remote read that the query API may not have: a failure of the server that repetition
// did not mend, or an answer without an end, which JSON has by itself.
func (s *Source) fails(err error) bool {
	var serr *statusError
	return s.cfg.Mode == ModeAuto && (errors.Is(err, errEndedByClose) || errors.As(err, &serr) && serr.code/100 == 5)
}

// breakageOf is the breakage of remote read that failed now.
func (s *Source) breakageOf(err error) *breakage {
	until := time.Now().Add(brokenFor)
	return &breakage{until, fmt.Sprintf(
		"remote read failed, so the query API is asked until %s, which takes longer and shows no staleness markers: %v; mend that, or choose with --source=query",
		until.UTC().Format(time.RFC3339), err)}
}

// giveUp switches to the query API for a while, because remote read of srv fails, and returns why. It reports each breakage once,
// and keeps the first.
func (s *Source) giveUp(srv *server, err error) *breakage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == srv {
		s.server = &server{mode: ModeQuery, external: srv.external, broken: s.breakageOf(err)}
	}
	if s.server == nil || s.server.broken == nil {
		return s.breakageOf(err) // found out anew meanwhile, and well
	}
	return s.server.broken
}

// instead asks the query API for what remote read has not given because of cause: the rest of the current share, and todo. It
// reports false if something of a selector was passed on already, so that it cannot take over.
func (rd *streamReader) instead(ctx context.Context, todo []*share, cause error) (ok bool, err error) {
	var index []int
	var requests []promquery.Request
	for _, s := range append([]*share{rd.share}, todo...) {
		done := max(0, int(s.at.last))
		if len(s.at.done) > 0 || s.at.started || s.at.mixed || s.later {
			return false, nil
		}
		index, requests = append(index, s.index[done:]...), append(requests, s.requests[done:]...)
	}
	for k, i := range index {
		if requests[k].End != rd.run.requests[i].End {
			return false, nil // the rest of its time is another share's
		}
	}
	tasks, err := rd.run.queries(ctx, index, requests)
	for _, task := range tasks {
		if err != nil {
			break
		}
		err = task(ctx)
	}
	if err != nil {
		return true, fmt.Errorf("%w; nor by the query API: %w", cause, err)
	}
	rd.run.warn(0, rd.run.src.giveUp(rd.srv, cause).warning)
	return true, nil
}
