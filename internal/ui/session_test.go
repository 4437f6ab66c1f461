package ui

import (
	"net/http"
	"strings"
	"testing"
)

// A token begins one session, and what is kept is bounded.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := newSessions()
	token := s.newToken(false)
	for _, bad := range []string{"", "x", strings.ToLower(token), token + "x", token[1:]} {
		if _, ok := s.begin(bad); ok {
			t.Errorf("the token %q begins a session", bad)
		}
	}
	key, ok := s.begin(token)
	if looks, in := s.has(key); !ok || !in || looks || key == token {
		t.Fatalf("begin returns %q, %t", key, ok)
	}
	if _, ok := s.begin(token); ok {
		t.Error("a token begins a second session")
	}
	for _, bad := range []string{"", token, key[1:]} {
		if _, in := s.has(bad); in {
			t.Errorf("%q is the key of a session", bad)
		}
	}
	first := s.newToken(false)
	for range maxTokens {
		s.newToken(false)
	}
	if _, ok := s.begin(first); ok || len(s.tokens) != maxTokens {
		t.Errorf("the oldest of %d tokens is still kept", len(s.tokens))
	}
	for range maxSessions {
		s.begin(s.newToken(false))
	}
	if _, in := s.has(key); in || len(s.keys) != maxSessions {
		t.Errorf("the oldest of %d sessions is still kept", len(s.keys))
	}
}

// A session that only looks can read, and neither change nor reach anything.
func TestLooks(t *testing.T) {
	t.Parallel()
	_, page := newPage(t)
	b := newBrowser(t, page)
	if code, _, body := b.do(http.MethodGet, page.link(true), nil, ""); code != http.StatusOK {
		t.Fatalf("the link is answered with %d: %s", code, body)
	}
	own := map[string]string{pageHeader: "1", "Origin": b.origin()}
	code, header, body := b.do(http.MethodGet, namespaces, own, "")
	if code != http.StatusOK || header.Get(looksHeader) == "" {
		t.Errorf("namespaces are answered with %d, %v: %s", code, header, body)
	}
	for method, paths := range map[string][]string{
		http.MethodPost: {namespaces, clusterPath + "/minikcm/v1/clock/pause", clusterPath + Path},
		http.MethodPut:  {namespaces + "/default"}, http.MethodPatch: {namespaces + "/default"}, http.MethodDelete: {namespaces + "/default"},
		http.MethodGet: {
			namespaces + "/default/pods/web/exec?command=ls", namespaces + "/default/pods/web/proxy/", namespaces + "/default/services/web/proxy/x",
			clusterPath + "/api/v1/nodes/node-0/proxy/run", clusterPath + debuggerPath + "?follow=true", clusterPath + "//minikcm/v1/debugger?follow=true",
		},
	} {
		for _, at := range paths {
			if code, _, body := b.do(method, at, own, "{}"); code != http.StatusForbidden || !strings.Contains(body, "may only look") {
				t.Errorf("%s %s is answered with %d: %s", method, at, code, body)
			}
		}
	}
	upgrade := map[string]string{pageHeader: "1", "Origin": b.origin(), "Upgrade": "websocket", "Connection": "Upgrade"}
	if code, _, _ := b.do(http.MethodGet, namespaces, upgrade, ""); code != http.StatusForbidden {
		t.Errorf("an upgrade is answered with %d", code)
	}
	if code, header, _ := b.open().do(http.MethodGet, namespaces, own, ""); code != http.StatusOK || header.Get(looksHeader) != "" {
		t.Errorf("after another link, the session is answered with %d, %v", code, header)
	}
}
