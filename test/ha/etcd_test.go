//go:build unix

package ha

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// memberEnv makes the test binary an etcd member: NAME CLIENT-ADDRESS PEER-ADDRESS ADVERTISED-PEER-ADDRESS
// DIRECTORY CLUSTER.
const memberEnv = "MINIKCM_HA_ETCD_MEMBER"

// runMember runs an etcd member until the process is killed.
func runMember(arguments string) error {
	fields := strings.Fields(arguments)
	if len(fields) != 6 {
		return fmt.Errorf("%s=%q: want six fields", memberEnv, arguments)
	}
	at := func(i int) []url.URL { return []url.URL{{Scheme: "http", Host: fields[i]}} }
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = fields[0], fields[4], fields[5]
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at(1), at(1)
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at(2), at(3)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("starting the etcd member %s: %w", fields[0], err)
	}
	return <-server.Err()
}

// member is a process of an etcd cluster.
type member struct {
	*process
	// link leads to the member, for the other members.
	link *proxy
	// id is the member's ID as other members see it in its requests.
	id string
}

// startMembers starts the processes of an etcd cluster, and returns their clients' addresses.
func startMembers(t *testing.T, n int) (members []*member, addresses []string) {
	t.Helper()
	peers, names := freeAddresses(t, n), make([]string, n)
	addresses = freeAddresses(t, n)
	for i := range n {
		link := newPeerProxy(t, peers[i])
		members = append(members, &member{link: link})
		names[i] = fmt.Sprintf("etcd-%d=http://%s", i, link.address())
	}
	dir := t.TempDir()
	for i, m := range members {
		name := fmt.Sprintf("etcd-%d", i)
		arguments := strings.Join([]string{name, addresses[i], peers[i], m.link.address(), filepath.Join(dir, name), strings.Join(names, ",")}, " ")
		m.process = &process{t: t, name: name, command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), memberEnv+"="+arguments)
			return cmd
		}}
		t.Cleanup(m.kill)
		m.start()
	}
	identify(t, members, addresses)
	return members, addresses
}

// identify waits until the members are a cluster, and learns their IDs.
func identify(t *testing.T, members []*member, addresses []string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: addresses, DialTimeout: requestTimeout, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	eventually(t, "the members of etcd", func(ctx context.Context) error {
		list, err := client.MemberList(ctx)
		if err != nil {
			return err
		}
		for _, found := range list.Members {
			for _, m := range members {
				if m.name == found.Name {
					m.id = strconv.FormatUint(found.ID, 16)
				}
			}
		}
		if slices.ContainsFunc(members, func(m *member) bool { return m.id == "" }) {
			return fmt.Errorf("the members %v are not complete", list.Members)
		}
		return nil
	})
}

// cut separates two members from each other, or connects them again.
func (m *member) cut(other *member, is bool) {
	m.link.cutFrom(other.id, is)
	other.link.cutFrom(m.id, is)
}

// freeAddresses returns ports of the loopback interface that were free a moment ago.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses
}
