package faults

import "time"

// Chance is the random numbers of one connection. Its zero value is a valid one.
type Chance struct {
	// Seed determines the numbers.
	Seed uint64
	// Never means that nothing happens that is not certain, for a question about what may happen.
	Never bool
}

// The purposes of a connection's numbers.
const (
	purposeHit = iota
	purposeThere
	purposeBack
	purposeConnect
	purposeRequest
	purposeAnswer
	purposeQuery
	purposeAddress
)

// draw returns the n-th number for a purpose of a rule.
func (c *Chance) draw(r *Rule, purpose, n uint64) uint64 {
	x := c.Seed ^ r.number*0x9e3779b97f4a7c15 ^ purpose<<56 ^ n<<40
	x += 0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// happens reports whether something with a probability, in percent, happens.
func (c *Chance) happens(r *Rule, purpose, n uint64, percent int) bool {
	switch {
	case percent >= 100:
		return true
	case c.Never || percent <= 0:
		return false
	}
	return c.draw(r, purpose, n)%10_000 < uint64(percent)*100
}

// upTo returns a random duration up to most.
func (c *Chance) upTo(r *Rule, purpose uint64, most time.Duration) time.Duration {
	if most <= 0 || c.Never {
		return 0
	}
	return time.Duration(c.draw(r, purpose, 0) % uint64(most+1))
}
