package remote

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	portforward "k8s.io/apimachinery/pkg/util/portforward"
	remoteconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// maxPorts is the number of ports of one WebSocket: each has two channels, and a channel's number is one byte, of
// which the protocol reserves the last.
const maxPorts = 127

// channels serves the ports that the URL names on a WebSocket with two channels for each, one for data and
// one for errors, as kubelets do for clients without SPDY. Each begins with the port, in two bytes.
func (p *ports) channels(w http.ResponseWriter, r *http.Request) error {
	switch n := len(p.Ports); {
	case n == 0:
		http.Error(w, `query parameter "port" is required`, http.StatusBadRequest)
		return nil
	case n > maxPorts:
		http.Error(w, fmt.Sprintf("at most %d ports can be forwarded by one WebSocket, got %d", maxPorts, n), http.StatusBadRequest)
		return nil
	}
	var kinds []wsstream.ChannelType
	for _, port := range p.Ports {
		if message := badPort(port); message != "" {
			http.Error(w, message, http.StatusBadRequest)
			return nil
		}
		kinds = append(kinds, wsstream.ReadWriteChannel, wsstream.WriteChannel)
	}
	protocols := map[string]wsstream.ChannelProtocolConfig{v4Base64Protocol: {Binary: false, Channels: kinds}}
	for _, name := range []string{"", remoteconsts.StreamProtocolV4Name, portforward.PortForwardV1Name} {
		protocols[name] = wsstream.ChannelProtocolConfig{Binary: true, Channels: kinds}
	}
	conn := wsstream.NewConn(protocols)
	quiet := klog.NewContext(r.Context(), klog.FromContext(r.Context()).V(4))
	_, streams, err := conn.Open(w, r.WithContext(quiet))
	if err != nil {
		return nil // the handshake has sent the error
	}
	defer conn.Close() // the client may have closed it before
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var serving sync.WaitGroup
	for i, port := range p.Ports {
		data, errors := streams[2*i], streams[2*i+1]
		serving.Go(func() { p.forwardChannels(ctx, uint16(port), data, errors) })
	}
	serving.Wait()
	return nil
}

// badPort returns the error message for an invalid port, in a kubelet's words.
func badPort(port int32) string {
	text := strconv.Itoa(int(port))
	switch _, err := strconv.ParseUint(text, 10, 16); {
	case err != nil:
		return fmt.Sprintf("unable to parse %q as a port: %v", text, err)
	case port == 0:
		return fmt.Sprintf("port %q must be > 0", text)
	}
	return ""
}

// forwardChannels serves one port.
func (p *ports) forwardChannels(ctx context.Context, port uint16, data, errors io.ReadWriteCloser) {
	defer data.Close()   // the client may have disconnected
	defer errors.Close() // as above
	number := binary.LittleEndian.AppendUint16(nil, port)
	for _, stream := range []io.Writer{data, errors} {
		if _, err := stream.Write(number); err != nil {
			return
		}
	}
	if err := p.Forward(ctx, port, data); err != nil {
		_, _ = io.WriteString(errors, p.failure(port, err))
	}
}

// failure returns the text in which a client gets an error.
func (p *ports) failure(port uint16, err error) string {
	return fmt.Sprintf("error forwarding port %d to pod %s, uid %v: %v", port, p.Pod, p.UID, err)
}
