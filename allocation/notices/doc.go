// Package notices defines the warnings that count things as templates, and joins those of several sets into one of each kind.
package notices
