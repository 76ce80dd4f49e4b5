package blocks

// Complete returns the instant, Unix milliseconds, before which the server that writes the blocks has its samples in them:
// the end of the newest block that was not written from out-of-order samples alone, for what came in order at the time of
// such a block may not be in blocks yet. Out-of-order samples of before that instant may still be missing.
func (db *DB) Complete() (int64, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if _, err := db.scan(); err != nil {
		return 0, err
	}
	until := int64(0)
	for _, b := range db.known {
		if !b.meta.Compaction.FromOutOfOrder() {
			until = max(until, b.meta.MaxTime)
		}
	}
	return until, nil
}
