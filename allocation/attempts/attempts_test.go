package attempts_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/promcost/promcost/allocation/attempts"
)

var (
	errGone   = errors.New("no such key")
	errDenied = errors.New("forbidden")
	errDown   = errors.New("slow down")
)

// store tells errors apart.
type store struct{}

func (store) Name() string                    { return "costs" }
func (store) IsObjNotFoundErr(err error) bool { return errors.Is(err, errGone) }
func (store) IsAccessDeniedErr(err error) bool {
	return errors.Is(err, errDenied)
}

// TestDo counts the attempts at requests that fail, and checks how that is told.
func TestDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fails int // so often
		err   error
		tried int
		is    error
		want  string
	}{
		{"succeeds", 0, nil, 1, nil, ""},
		{"fails twice", 2, errDown, 3, nil, ""},
		{"always fails", 9, errDown, 4, errDown, "read of bucket costs: a/b: slow down (4 attempts): is the object store there?"},
		{"is not there", 9, errGone, 1, fs.ErrNotExist, "read of bucket costs: a/b: file does not exist"},
		{"is denied", 9, errDenied, 1, errDenied, "forbidden: allow it in the bucket's policy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tried := 0
			err := attempts.Options{Attempts: 4, Backoff: time.Millisecond}.WithDefaults().Do(t.Context(), store{}, "read", "a/b", func(context.Context) error {
				if tried++; tried <= tc.fails {
					return tc.err
				}
				return nil
			})
			if !errors.Is(err, tc.is) || tried != tc.tried || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("tried %d times: %v; want %d times, %q", tried, err, tc.tried, tc.want)
			}
		})
	}
}

// TestCancelled gives up with the context's error.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := attempts.Options{}.WithDefaults().Do(ctx, store{}, "read", "a/b", func(context.Context) error {
		cancel()
		return errDown
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
}
