// Package faulty is a store that fails on demand: it is slow, cannot be reached, has
// no space or loses its leader, for as long as a scenario or a test wants. Time comes
// from a clock and chance from a seed, so that a run can be repeated. What it
// acknowledges is in the store beneath it, and with no fault it is that store.
package faulty
