package auth

import (
	"crypto/sha256"
	"sync"
)

// maxVerified is how many tokens are remembered in each of two generations.
const maxVerified = 1024

// verified remembers what tokens say whose signature has been checked: that costs more
// than all the rest of a small request. What may change (the time, what a token is bound
// to) is checked each time. The zero value is ready; of the tokens that are used least
// recently, about half are forgotten when there are too many.
type verified struct {
	mu         sync.Mutex
	young, old map[[sha256.Size]byte]*Claims
}

// get returns the claims of a token, which must not be changed, or nil.
func (v *verified) get(token string) *Claims {
	key := sha256.Sum256([]byte(token))
	v.mu.Lock()
	defer v.mu.Unlock()
	if claims := v.young[key]; claims != nil {
		return claims
	}
	claims := v.old[key]
	if claims != nil {
		v.add(key, claims)
	}
	return claims
}

func (v *verified) put(token string, claims *Claims) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.add(sha256.Sum256([]byte(token)), claims)
}

func (v *verified) add(key [sha256.Size]byte, claims *Claims) {
	if v.young == nil || len(v.young) >= maxVerified {
		v.young, v.old = map[[sha256.Size]byte]*Claims{}, v.young
	}
	v.young[key] = claims
}
