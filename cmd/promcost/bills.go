package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thanos-io/objstore/providers/filesystem"

	"github.com/promcost/promcost/allocation/billing"
	"github.com/promcost/promcost/cmd/promcost/internal/bucket"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
)

// newIntake is what takes in bills, into the history, or into memory without one. alone says that nothing else looks for
// deliveries.
func (s *service) newIntake(k *keeping, alone bool) *billing.Intake {
	var keeper billing.Keeper
	if k.store != nil {
		keeper = k.store.Bills()
	} else {
		account := s.memory.Open("read fewer bills")
		keeper = billing.NewMemory(account)
		s.closers = append(s.closers, closerFunc(func() error { account.Close(); return nil }))
	}
	return billing.NewIntake(keeper, s.logs.kit, billing.IntakeOptions{Now: s.now, LookFirst: alone})
}

// openBills opens the places of bills. A process that only reads the history, or that has another shard than the first, does
// not read their files: others do.
func (s *service) openBills(next *config.Settings) (sources []billing.Source, closeAll func() error, err error) {
	var opened []io.Closer
	closeAll = func() error {
		var errs []error
		for _, c := range opened {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for i := range next.Bills {
		b := &next.Bills[i]
		src := billing.Source{Bill: b.Bill}
		switch {
		case s.readsBills && b.Bucket != "":
			what := "config of bill " + b.Name
			store, err := bucket.Open(what, b.Bucket, s.logs.kit)
			if err != nil {
				return nil, nil, errors.Join(err, closeAll())
			}
			opened = append(opened, store)
			root, err := bucket.Directory(what, b.Bucket)
			if err != nil {
				return nil, nil, errors.Join(err, closeAll())
			}
			src.Files = &billing.Files{Bucket: store, Root: root, Where: store.Name()}
		case s.readsBills:
			root, pattern := billPlace(b.Path)
			store, err := filesystem.NewBucket(root)
			if err != nil {
				return nil, nil, errors.Join(fmt.Errorf("open bill %s: %w", b.Name, err), closeAll())
			}
			opened = append(opened, store)
			src.Files = &billing.Files{Bucket: store, Root: root, Pattern: pattern}
		}
		sources = append(sources, src)
	}
	return sources, closeAll, nil
}

// billPlace divides the path of a bill into a directory and the pattern of names below it, which is empty for all.
func billPlace(path string) (root, pattern string) {
	const meta = "*?["
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return path, ""
		}
		return filepath.Dir(path), filepath.Base(path)
	}
	if !strings.ContainsAny(path, meta) {
		return path, ""
	}
	root = path
	for strings.ContainsAny(root, meta) {
		root = filepath.Dir(root)
	}
	below, err := filepath.Rel(root, path)
	if err != nil {
		return path, ""
	}
	return root, filepath.ToSlash(below)
}

// takeBills looks for deliveries of bills until ctx ends.
func (s *service) takeBills(ctx context.Context) error {
	s.bills.Run(ctx, func() time.Duration { return s.settings().BillsInterval })
	return nil
}
