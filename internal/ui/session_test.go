package ui

import (
	"strings"
	"testing"
)

// A token begins one session, and what is kept is bounded.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSessions()
	token := s.newToken()
	for _, bad := range []string{"", "x", strings.ToLower(token), token + "x", token[1:]} {
		if _, ok := s.begin(bad); ok {
			t.Errorf("the token %q begins a session", bad)
		}
	}
	key, ok := s.begin(token)
	if !ok || !s.has(key) || key == token {
		t.Fatalf("begin returns %q, %t", key, ok)
	}
	if _, ok := s.begin(token); ok {
		t.Error("a token begins a second session")
	}
	for _, bad := range []string{"", token, key[1:]} {
		if s.has(bad) {
			t.Errorf("%q is the key of a session", bad)
		}
	}
	first := s.newToken()
	for range maxTokens {
		s.newToken()
	}
	if _, ok := s.begin(first); ok || len(s.tokens) != maxTokens {
		t.Errorf("the oldest of %d tokens is still kept", len(s.tokens))
	}
	for range maxSessions {
		s.begin(s.newToken())
	}
	if s.has(key) || len(s.keys) != maxSessions {
		t.Errorf("the oldest of %d sessions is still kept", len(s.keys))
	}
}
