package ha

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// memberEnv makes the test binary an etcd member: NAME CLIENT-ADDRESS PEER-ADDRESS DIRECTORY CLUSTER.
const memberEnv = "MINIKCM_HA_ETCD_MEMBER"

// runMember runs an etcd member until the process is killed.
func runMember(arguments string) error {
	fields := strings.Fields(arguments)
	if len(fields) != 5 {
		return fmt.Errorf("%s=%q: want five fields", memberEnv, arguments)
	}
	client, peer := url.URL{Scheme: "http", Host: fields[1]}, url.URL{Scheme: "http", Host: fields[2]}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.InitialCluster = fields[0], fields[3], fields[4]
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("starting the etcd member %s: %w", fields[0], err)
	}
	return <-server.Err()
}

// newMembers returns the processes of an etcd cluster, not started, and their clients'
// addresses.
func newMembers(t *testing.T, n int) (members []*process, addresses []string) {
	t.Helper()
	peers, names := freeAddresses(t, n), make([]string, n)
	addresses = freeAddresses(t, n)
	for i := range n {
		names[i] = fmt.Sprintf("etcd-%d=http://%s", i, peers[i])
	}
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("etcd-%d", i)
		arguments := strings.Join([]string{name, addresses[i], peers[i], filepath.Join(dir, name), strings.Join(names, ",")}, " ")
		members = append(members, &process{t: t, name: name, command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), memberEnv+"="+arguments)
			return cmd
		}})
	}
	return members, addresses
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
