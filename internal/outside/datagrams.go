package outside

import (
	"context"
	"net"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/internal/inflight"
)

// The budgets of a published UDP port: the bytes of a datagram, and the datagrams whose answers are computed at a time. More are lost,
// as in a receiver's full queue.
const (
	maxDatagram  = 64 << 10
	maxDatagrams = 256
)

// receive answers the datagrams that come to a published port, until it is closed.
func (p *publisher) receive(ctx context.Context, at datagrams, host string, port int32) {
	var answering sync.WaitGroup
	defer answering.Wait()
	free := make(chan struct{}, maxDatagrams)
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := at.ReadFrom(buffer)
		if err != nil {
			return
		}
		select {
		case free <- struct{}{}:
		default:
			continue
		}
		data := append([]byte(nil), buffer[:n]...)
		answering.Go(func() {
			defer func() { <-free }()
			if answer := p.answerDatagram(ctx, from, host, port, data); len(answer) > 0 {
				_, _ = at.WriteTo(answer, from) // the port may be closed
			}
		})
	}
}

// answerDatagram returns what answers a datagram; empty if nothing does. It is in flight meanwhile.
func (p *publisher) answerDatagram(ctx context.Context, from net.Addr, host string, port int32, data []byte) []byte {
	work := inflight.Begin(p.ledger, inflight.Request)
	defer work.End()
	ctx, cancel := context.WithTimeout(inflight.With(ctx, work), requestTimeout)
	defer cancel()
	path, err := p.kubelets.Enter(ctx, host, port, corev1.ProtocolUDP)
	if err != nil || !arrives(path) {
		return nil
	}
	sender, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return nil
	}
	answer, err := p.kubelets.ExchangeEntered(ctx, path, sender.Port(), data)
	if err != nil {
		return nil
	}
	return answer
}
