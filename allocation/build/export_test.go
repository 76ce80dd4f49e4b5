package build

import "github.com/promcost/promcost/allocation/build/charge"

// What follows lets tests take single steps of a builder that was given all series at once.

// Resolve finds what ran when, once everything but usage was added.
func (b *Builder) Resolve() error { return b.charger.Begin() }

// Finalize ends a phase of usage. It returns the stretches whose usage is to be added again.
func (b *Builder) Finalize() ([]charge.Excess, error) { return b.charger.Finalize() }

// Revisit begins a stretch whose usage is added again.
func (b *Builder) Revisit(s Span) { b.charger.Revisit(s) }

// Beyond returns the spans beyond the window that are asked for.
func (b *Builder) Beyond() []Span { return b.resolver.Beyond() }

// Silent returns the spans in which no container was seen.
func (b *Builder) Silent() []Span { return b.resolver.SilentSpans() }

// UnseenBefore and UnseenAfter look for the usage that is needed beyond the window.
func (b *Builder) UnseenBefore() { b.charger.UnseenPodsBefore() }
func (b *Builder) UnseenAfter()  { b.charger.UnseenPodsAfter() }

// Borders returns when counters of nodes are needed.
func (b *Builder) Borders() (last, whole []Span) { return b.resolver.BorderSpans() }

// Memory estimates the bytes that the process needs.
func (b *Builder) Memory() int64 { return b.observer.Memory() }
