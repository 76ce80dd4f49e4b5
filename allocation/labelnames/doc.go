// Package labelnames finds labels and annotations by name, in whatever way an exporter spells it.
package labelnames
