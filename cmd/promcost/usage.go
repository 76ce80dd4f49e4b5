package main

import "fmt"

// usageError is a command line that was parsed but makes no sense: the process ends with exitUsage.
type usageError struct{ cause error }

// Error is the cause's.
func (e *usageError) Error() string { return e.cause.Error() }

// Unwrap is the cause.
func (e *usageError) Unwrap() error { return e.cause }

// usageErrorf is fmt.Errorf for a usageError.
func usageErrorf(format string, args ...any) error {
	return &usageError{cause: fmt.Errorf(format, args...)}
}
