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

// secret is a token or key by its digest. A session that only looks can read, and nothing else.
type secret struct {
	digest [sha256.Size]byte
	looks  bool
}

func newSecret(text string, looks bool) secret {
	return secret{digest: sha256.Sum256([]byte(text)), looks: looks}
}

// sessions holds the digests of the links' tokens and of the sessions' keys. Looking up a
// digest takes a time that says nothing about the secret.
type sessions struct {
	mu     sync.Mutex
	tokens []secret
	keys   []secret
}

func newSessions() *sessions { return &sessions{} }

// newToken returns a token that begins one session.
func (s *sessions) newToken(looks bool) string {
	token := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = appendBounded(s.tokens, newSecret(token, looks), maxTokens)
	return token
}

// begin uses up a token and returns the key of a new session; ok is false if the token is
// not one of an unused link.
func (s *sessions) begin(token string) (key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := find(s.tokens, token)
	if i < 0 {
		return "", false
	}
	looks := s.tokens[i].looks
	s.tokens = slices.Delete(s.tokens, i, i+1)
	key = rand.Text()
	s.keys = appendBounded(s.keys, newSecret(key, looks), maxSessions)
	return key, true
}

// has reports whether a session has the key, and whether it only looks.
func (s *sessions) has(key string) (looks, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := find(s.keys, key)
	return i >= 0 && s.keys[i].looks, i >= 0
}

func find(all []secret, text string) int {
	digest := newSecret(text, false).digest
	return slices.IndexFunc(all, func(s secret) bool { return s.digest == digest })
}

func appendBounded(all []secret, one secret, limit int) []secret {
	if len(all) >= limit {
		all = slices.Delete(all, 0, len(all)-limit+1)
	}
	return append(all, one)
}
