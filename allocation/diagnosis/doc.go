// Package diagnosis describes which inputs a source of samples has, and what is missing.
package diagnosis
