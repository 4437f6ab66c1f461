package remote

import (
	"io"
	"net/http"
	"sync"

	remoteconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// The protocols that exist for WebSockets only.
const (
	base64Protocol   = wsstream.Base64ChannelWebSocketProtocol
	v4Base64Protocol = "v4." + base64Protocol
)

// openWebSocket sends the error of a failed handshake itself and then returns nil, nil.
func openWebSocket(w http.ResponseWriter, r *http.Request, o Options) (*connection, error) {
	reads := func(wanted bool) wsstream.ChannelType {
		if wanted {
			return wsstream.ReadChannel
		}
		return wsstream.IgnoreChannel
	}
	channels := []wsstream.ChannelType{
		remoteconsts.StreamStdIn:  reads(o.Stdin),
		remoteconsts.StreamStdOut: wsstream.WriteChannel,
		remoteconsts.StreamStdErr: wsstream.WriteChannel,
		// The stream is readable only to detect the end of the connection.
		remoteconsts.StreamErr:    wsstream.ReadWriteChannel,
		remoteconsts.StreamResize: reads(o.TTY),
	}
	protocols := map[string]wsstream.ChannelProtocolConfig{}
	for _, name := range []string{"", remoteconsts.StreamProtocolV1Name, remoteconsts.StreamProtocolV4Name, remoteconsts.StreamProtocolV5Name} {
		protocols[name] = wsstream.ChannelProtocolConfig{Binary: true, Channels: channels}
	}
	for _, name := range []string{base64Protocol, v4Base64Protocol} {
		protocols[name] = wsstream.ChannelProtocolConfig{Binary: false, Channels: channels}
	}
	conn := wsstream.NewConn(protocols)
	quiet := klog.NewContext(r.Context(), klog.FromContext(r.Context()).V(4))
	client := &noticing{ResponseWriter: w, sent: make(chan struct{})}
	protocol, streams, err := conn.Open(client, r.WithContext(quiet))
	if err != nil {
		return nil, nil // the handshake has sent the error
	}
	c := &connection{status: streams[remoteconsts.StreamErr]}
	switch protocol {
	case remoteconsts.StreamProtocolV4Name, v4Base64Protocol, remoteconsts.StreamProtocolV5Name:
	default:
		c.plain = true
	}
	if o.Stdin {
		c.stdin = streams[remoteconsts.StreamStdIn]
	}
	if o.Stdout {
		c.stdout = streams[remoteconsts.StreamStdOut]
	}
	if o.Stderr {
		c.stderr = streams[remoteconsts.StreamStdErr]
	}
	if o.TTY {
		c.resize = streams[remoteconsts.StreamResize]
	}
	gone := make(chan struct{})
	c.gone = gone
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, streams[remoteconsts.StreamErr])
	}()
	var once sync.Once
	c.close = func() {
		once.Do(func() {
			conn.SetWriteDeadline(closeTime)
			_ = conn.Close()
		})
		<-gone
	}
	if protocol == remoteconsts.StreamProtocolV5Name {
		client.awaitStreams(r.Context())
	}
	// As upstream, an empty message signals that the connection is established.
	first := streams[remoteconsts.StreamErr]
	switch {
	case o.Stdout:
		first = streams[remoteconsts.StreamStdOut]
	case o.Stderr:
		first = streams[remoteconsts.StreamStdErr]
	}
	_, _ = first.Write(nil)
	return c, nil
}
