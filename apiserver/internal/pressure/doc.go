// Package pressure says how near the process is to its memory limit, so that the server can
// shed load before the limit is reached. A Gauge reads the live heap as the garbage collector
// found it last, which costs about a microsecond, at most every ten milliseconds. A Budget counts the bytes that
// the responses in flight hold, which clients that do not read would let grow.
package pressure
