package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"
)

// webSocketPrefix begins the subprotocol by which a browser, which cannot set headers,
// sends its token to open a WebSocket, as upstream has it.
const webSocketPrefix = "base64url.bearer.authorization.k8s.io."

const webSocketProtocols = "Sec-Websocket-Protocol"

// spaceWarning is upstream's, for a header of which only spaces follow the scheme.
const spaceWarning = "the provided Authorization header contains extra space before the bearer token, and is ignored"

// Bearer returns the token that a request shows: in its Authorization header or, to
// open a WebSocket, as a subprotocol. Empty is none; a warning is for the client.
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

// webSocketToken returns what is refused as a token where upstream refuses the request:
// several of them, one that cannot be read, or one beside which there is no
// subprotocol that could be chosen.
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

// DropWebSocketToken takes the token out of the subprotocols that a client offers:
// what remains can be chosen from, and is echoed.
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
