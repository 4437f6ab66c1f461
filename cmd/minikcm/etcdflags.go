package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm/store"
)

// etcdFlags select an external etcd cluster. They are named as kube-apiserver's.
type etcdFlags struct {
	servers  []string
	caFile   string
	certFile string
	keyFile  string
}

func (f *etcdFlags) register(flags *pflag.FlagSet, usage string) {
	flags.StringSliceVar(&f.servers, "etcd-servers", nil, usage)
	flags.StringVar(&f.caFile, "etcd-cafile", "", "CA certificate file used to verify --etcd-servers")
	flags.StringVar(&f.certFile, "etcd-certfile", "", "client certificate file for --etcd-servers")
	flags.StringVar(&f.keyFile, "etcd-keyfile", "", "key file of --etcd-certfile")
}

func (f *etcdFlags) options() (store.EtcdOptions, error) {
	opts := store.EtcdOptions{Endpoints: f.servers, CAFile: f.caFile, CertFile: f.certFile, KeyFile: f.keyFile}
	if len(f.servers) == 0 && f.caFile+f.certFile+f.keyFile != "" {
		return opts, badInput{errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers, which is missing")}
	}
	if (f.certFile == "") != (f.keyFile == "") {
		return opts, badInput{errors.New("--etcd-certfile and --etcd-keyfile must be given together")}
	}
	for _, file := range []string{f.caFile, f.certFile, f.keyFile} {
		if file == "" {
			continue
		}
		if err := checkFile(file); err != nil {
			return opts, fmt.Errorf("reading the TLS files for etcd: %w", err)
		}
	}
	return opts, nil
}
