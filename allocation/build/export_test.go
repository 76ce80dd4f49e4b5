package build

// What follows lets tests take single steps of a builder that was given all series at once.

// Resolve finds what ran when, once everything but usage was added.
func (b *Builder) Resolve() error { return b.resolveAndLay() }

// Finalize ends a phase of usage. It returns the stretches whose usage is to be added again.
func (b *Builder) Finalize() ([]excess, error) { return b.finalizeUsage() }

// Revisit begins a stretch whose usage is added again.
func (b *Builder) Revisit(s Span) { b.revisit(s) }

// Beyond returns the spans beyond the window that are asked for.
func (b *Builder) Beyond() []Span { return b.beyond() }

// Silent returns the spans in which no container was seen.
func (b *Builder) Silent() []Span { return b.silentSpans() }

// UnseenBefore and UnseenAfter look for the usage that is needed beyond the window.
func (b *Builder) UnseenBefore() { b.unseenPodsBefore() }
func (b *Builder) UnseenAfter()  { b.unseenPodsAfter() }

// Borders returns when counters of nodes are needed.
func (b *Builder) Borders() (last, whole []Span) { return b.borderSpans() }

// Memory estimates the bytes that the process needs.
func (b *Builder) Memory() int64 { return b.memory() }
