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

func webSocketToken(header http.Header) string {
	for _, line := range header["Sec-Websocket-Protocol"] {
		for protocol := range strings.SplitSeq(line, ",") {
			encoded, ok := strings.CutPrefix(strings.TrimSpace(protocol), webSocketPrefix)
			if !ok {
				continue
			}
			if token, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && utf8.Valid(token) {
				return string(token)
			}
			return encoded // which is no token, and refused as one
		}
	}
	return ""
}
