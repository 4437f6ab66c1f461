package ui

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
)

const (
	// maxTokens and maxSessions are the numbers that are kept; a new one replaces the oldest.
	maxTokens   = 32
	maxSessions = 128
)

type digest [sha256.Size]byte

// sessions holds the digests of the links' tokens and of the sessions' keys. Looking up a
// digest takes a time that says nothing about the secret.
type sessions struct {
	mu     sync.Mutex
	tokens []digest
	keys   []digest
}

func newSessions() *sessions { return &sessions{} }

// newToken returns a token that begins one session.
func (s *sessions) newToken() string {
	token := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = appendBounded(s.tokens, token, maxTokens)
	return token
}

// begin uses up a token and returns the key of a new session; ok is false if the token is
// not one of an unused link.
func (s *sessions) begin(token string) (key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.tokens, digest(sha256.Sum256([]byte(token))))
	if i < 0 {
		return "", false
	}
	s.tokens = slices.Delete(s.tokens, i, i+1)
	key = rand.Text()
	s.keys = appendBounded(s.keys, key, maxSessions)
	return key, true
}

// has reports whether a session has the key.
func (s *sessions) has(key string) bool {
	sum := digest(sha256.Sum256([]byte(key)))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.keys, sum)
}

func appendBounded(all []digest, secret string, limit int) []digest {
	if len(all) >= limit {
		all = slices.Delete(all, 0, len(all)-limit+1)
	}
	return append(all, digest(sha256.Sum256([]byte(secret))))
}
