package parts

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/internal/peers"
	"minikcm.dev/minikcm/internal/sharing"
)

// makePeers sets Peers.
func (p *Parts) makePeers() (err error) {
	if !p.opts.Shares {
		return nil
	}
	p.Peers, err = peers.New(peers.Options{Authority: p.opts.Identity.Authority, RootCAs: p.opts.Identity.ServerCAs(), Owner: p.ownerOf})
	return err
}

// ownerOf returns the address of the API server of the process that simulates a node; empty if
// it is this process.
func (p *Parts) ownerOf(ctx context.Context, node string) (string, error) {
	if p.Kubelets.Simulates(node) {
		return "", nil
	}
	member := p.shared.member.Load()
	if member == nil {
		return "", apierrors.NewServiceUnavailable("this process has not yet joined the others on its etcd")
	}
	holder, err := sharing.Holder(ctx, p.client, members.ShardRole(members.ShardOf(node)))
	if err != nil {
		return "", err
	}
	if holder.Name == member.Name() { // it is about to simulate the node
		return "", nil
	}
	if !member.Live(holder.Name) {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("the process that simulates node %s does not renew its Lease %s/%s; another one takes over soon",
			node, members.Namespace, holder.Name))
	}
	address := members.Address(holder)
	if address == "" {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("the process that simulates node %s (Lease %s/%s) does not serve HTTPS", node, members.Namespace, holder.Name))
	}
	hostname, err := os.Hostname()
	if at, parseErr := netip.ParseAddrPort(address); parseErr == nil && at.Addr().IsLoopback() && (err != nil || holder.Labels[corev1.LabelHostname] != hostname) {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("the process that simulates node %s (Lease %s/%s) advertises %s, which only its own machine reaches: start it with --bind-address or --advertise-address",
			node, members.Namespace, holder.Name, address))
	}
	return address, nil
}
