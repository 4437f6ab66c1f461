package auth

import (
	"encoding/base64"
	"net/http"
	"testing"
)

func TestBearer(t *testing.T) {
	socket := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte("t"))
	for name, test := range map[string]struct {
		header         http.Header
		token, warning string
	}{
		"none":               {header(), "", ""},
		"basic":              {header("Authorization", "Basic abc"), "", ""},
		"bearer":             {header("Authorization", "Bearer t"), "t", ""},
		"any case":           {header("Authorization", "  bEARER t  "), "t", ""},
		"more behind":        {header("Authorization", "Bearer t u"), "t", ""},
		"alone":              {header("Authorization", "Bearer"), "", ""},
		"two spaces":         {header("Authorization", "Bearer  t"), "", spaceWarning},
		"web socket":         {header("Upgrade", "websocket", "Sec-Websocket-Protocol", "v4.channel.k8s.io, "+socket), "t", ""},
		"of no web socket":   {header("Sec-Websocket-Protocol", socket), "", ""},
		"web socket, broken": {header("Upgrade", "WebSocket", "Sec-Websocket-Protocol", "x,base64url.bearer.authorization.k8s.io.%"), "%", ""},
		"web socket, alone":  {header("Upgrade", "WebSocket", "Sec-Websocket-Protocol", socket), webSocketPrefix, ""},
		"web socket, two":    {header("Upgrade", "WebSocket", "Sec-Websocket-Protocol", "x, "+socket+", "+socket), webSocketPrefix, ""},
		"web socket without": {header("Upgrade", "websocket", "Sec-Websocket-Protocol", "v4.channel.k8s.io"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if token, warning := Bearer(test.header); token != test.token || warning != test.warning {
				t.Errorf("got %q and %q", token, warning)
			}
		})
	}
}

func TestDropWebSocketToken(t *testing.T) {
	for given, want := range map[string]string{
		"a, b": "a, b",
		"a, base64url.bearer.authorization.k8s.io.x , b": "a,b",
	} {
		h := header("Sec-Websocket-Protocol", given)
		DropWebSocketToken(h)
		if got := h.Get("Sec-Websocket-Protocol"); got != want {
			t.Errorf("%s: got %q", given, got)
		}
	}
}
