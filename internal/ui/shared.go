package ui

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

const (
	// writeTimeout bounds the real time that a page may need to receive a message.
	writeTimeout = 30 * time.Second
	// maxStatus is the size of the API server's answer to a watch that it refuses, in bytes.
	maxStatus = 1 << 20
)

// upgrader makes WebSockets. serveShared has checked the origin.
var upgrader = websocket.Upgrader{EnableCompression: true, CheckOrigin: func(*http.Request) bool { return true }}

// serveShared serves a watch of the API server that all pages share, through a WebSocket. Its
// messages have the events that are the latest of their objects, a line each.
func (s *Server) serveShared(w http.ResponseWriter, r *http.Request) {
	up := s.admit(w, r)
	if up == nil {
		return
	}
	version, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil || version == 0 || !websocket.IsWebSocketUpgrade(r) {
		minikcm.WriteError(w, apierrors.NewBadRequest("a shared watch is a WebSocket, and has the resourceVersion of a list in its query"))
		return
	}
	subscription, err := up.feeds.Subscribe(r.Context(), strings.TrimPrefix(r.URL.Path, sharedPath), version)
	if err != nil {
		minikcm.WriteError(w, err)
		return
	}
	defer subscription.Leave()
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it is answered
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.requests.Go(func() { // ends with the connection
		defer cancel()
		_, _, _ = conn.NextReader() // a page sends nothing but its close
	})
	for {
		m, err := subscription.Next(ctx)
		if err != nil {
			break
		}
		_ = conn.SetWriteDeadline(clock.Real().Now().Add(writeTimeout)) // never fails
		if err := conn.WritePreparedMessage(m); err != nil {
			return
		}
	}
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), clock.Real().Now().Add(time.Second)) // fails only if the page is gone
}

// watch opens a watch of the API server, as package feeds needs it.
func (u *upstream) watch(ctx context.Context, path string, version uint64) (io.ReadCloser, error) {
	at := *u.host
	at.Path = path
	at.RawQuery = url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {strconv.FormatUint(version, 10)}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "minikcm-ui")
	response, err := u.transport.RoundTrip(r)
	if err != nil {
		return nil, unreachable(err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	status := metav1.Status{}
	if err != nil || json.Unmarshal(data, &status) != nil || status.Status != metav1.StatusFailure {
		return nil, apierrors.NewGenericServerResponse(response.StatusCode, "watch", schema.GroupResource{}, path, string(data), 0, false)
	}
	return nil, &apierrors.StatusError{ErrStatus: status}
}
