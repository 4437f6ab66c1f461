package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/test/wire/exchange"
)

// adminToken is the token of a member of system:masters.
const adminToken = "wire-admin"

// users are the other users of the token file, by their tokens.
const users = adminToken + `,admin,admin,"system:masters"
wire-nobody,nobody,nobody,"readers"
`

// The files beside the folders of both servers.
const (
	tokensFile = "tokens.csv"
	keyFile    = "service-accounts.key"
)

// writeShared writes the files that both servers read: users, and the key of service accounts.
func writeShared(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, tokensFile), []byte(users), 0o600); err != nil {
		return err
	}
	pem, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	return keyutil.WriteKey(filepath.Join(dir, keyFile), pem)
}

// startTime bounds the time until a server is ready.
const startTime = 2 * time.Minute

// servers are the processes of one API server and its etcd, with their files in a folder.
type servers struct {
	dir  string
	cmds []*exec.Cmd
}

// startServers starts an etcd and an API server on it, and waits until that is ready. Nothing else
// runs, as in envtest: no controllers, no scheduler and no nodes.
func startServers(ctx context.Context, dir, etcd, apiServer string) (*servers, *exchange.Server, error) {
	s := &servers{dir: dir}
	server, err := s.begin(ctx, etcd, apiServer)
	if err != nil {
		s.stop()
		return nil, nil, err
	}
	return s, server, nil
}

func (s *servers) begin(ctx context.Context, etcd, apiServer string) (*exchange.Server, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := s.start(etcd, "--data-dir", filepath.Join(s.dir, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer, "--unsafe-no-fsync"); err != nil {
		return nil, err
	}
	tokens, key := filepath.Join(filepath.Dir(s.dir), tokensFile), filepath.Join(filepath.Dir(s.dir), keyFile)
	if err := s.start(apiServer, "--etcd-servers", client, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(ports[2]), "--cert-dir", s.dir, "--token-auth-file", tokens,
		"--authorization-mode", "Node,RBAC", "--service-cluster-ip-range", "10.96.0.0/16", "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", key, "--service-account-signing-key-file", key, "--allow-privileged"); err != nil {
		return nil, err
	}
	server := exchange.NewServer(fmt.Sprintf("https://127.0.0.1:%d", ports[2]), adminToken)
	for elapsed := clock.Stopwatch(); elapsed() < startTime; {
		if _, err = server.Get(ctx, "/readyz", "*/*"); err == nil {
			return server, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-clock.Real().After(50 * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("%s is not ready after %v (its log is in %s): %w", apiServer, startTime, s.dir, err)
}

// start starts a program, whose log stays in the folder.
func (s *servers) start(program string, args ...string) error {
	log, err := os.Create(filepath.Join(s.dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	s.cmds = append(s.cmds, cmd)
	return nil
}

// stop kills the processes: their stored data is not used again.
func (s *servers) stop() {
	for _, cmd := range s.cmds {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
}

// freePorts returns ports that nothing listens on.
func freePorts(count int) (ports []int, err error) {
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after all are chosen
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
