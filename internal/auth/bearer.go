package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"
)

// webSocketPrefix is the prefix of the subprotocol with which a browser, which cannot
// set headers, sends its token when it opens a WebSocket, as upstream.
const webSocketPrefix = "base64url.bearer.authorization.k8s.io."

const webSocketProtocols = "Sec-Websocket-Protocol"

// spaceWarning is upstream's warning for a header with more than one space before the
// token.
const spaceWarning = "the provided Authorization header contains extra space before the bearer token, and is ignored"

// Bearer returns the token of a request: from its Authorization header or, for a
// WebSocket, from a subprotocol. It is empty if there is none; warning is to be sent to
// the client.
func Bearer(header http.Header) (token, warning string) {
	if value := strings.TrimSpace(header.Get("Authorization")); value != "" {
		parts := strings.SplitN(value, " ", 3)
		if len(parts) > 1 && strings.EqualFold(parts[0], "bearer") {
			if parts[1] == "" && len(parts) == 3 {
				return "", spaceWarning
			}
			return parts[1], ""
		}
	}
	if !strings.EqualFold(header.Get("Upgrade"), "websocket") {
		return "", ""
	}
	return webSocketToken(header), ""
}

// webSocketToken returns the token of a WebSocket request, or a value that is never
// valid where upstream rejects the request: if there are several tokens, an undecodable
// one, or no other subprotocol that could be selected.
func webSocketToken(header http.Header) string {
	tokens, others := splitProtocols(header)
	switch {
	case len(tokens) == 0:
		return ""
	case len(tokens) > 1 || len(others) == 0:
		return webSocketPrefix
	}
	if token, err := base64.RawURLEncoding.DecodeString(tokens[0]); err == nil && utf8.Valid(token) {
		return string(token)
	}
	return tokens[0]
}

// DropWebSocketToken removes the token from the offered subprotocols, so that it is not
// selected and echoed.
func DropWebSocketToken(header http.Header) {
	if tokens, others := splitProtocols(header); len(tokens) > 0 {
		header.Set(webSocketProtocols, strings.Join(others, ","))
	}
}

func splitProtocols(header http.Header) (tokens, others []string) {
	for _, line := range header[webSocketProtocols] {
		for protocol := range strings.SplitSeq(line, ",") {
			protocol = strings.TrimSpace(protocol)
			if encoded, ok := strings.CutPrefix(protocol, webSocketPrefix); ok {
				tokens = append(tokens, encoded)
			} else {
				others = append(others, protocol)
			}
		}
	}
	return tokens, others
}

// DropCredentials removes the headers of an authenticated request that only the API server may
// see: its token, and the headers in which front proxies name users, so that nothing behind
// the API server takes them for its own.
func DropCredentials(header http.Header) {
	delete(header, "Authorization")
	for name := range header {
		switch {
		case !strings.HasPrefix(name, "X-Remote-"):
		case name == "X-Remote-User", name == "X-Remote-Uid", name == "X-Remote-Group", strings.HasPrefix(name, "X-Remote-Extra-"):
			delete(header, name)
		}
	}
}
