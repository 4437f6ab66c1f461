package client

import (
	"fmt"
	"io"
	"strconv"
)

// Option changes how a cluster is started.
type Option func(*options)

type options struct {
	binary string
	args   []string
	stderr io.Writer
	clock  string
}

// Binary sets the path of the minikcm binary.
func Binary(path string) Option { return func(o *options) { o.binary = path } }

// Args adds flags of "minikcm up", such as "--scheduler=false".
func Args(args ...string) Option { return func(o *options) { o.args = append(o.args, args...) } }

// Nodes sets the number of simulated nodes. The default is 1.
func Nodes(n int) Option { return Args("--nodes", strconv.Itoa(n)) }

// Seed sets the seed of names, UIDs and all other random choices of the cluster.
func Seed(seed uint64) Option { return Args("--seed", strconv.FormatUint(seed, 10)) }

// Speed sets the speed of the cluster's clock at the start, as a multiple of the machine's
// time. The default is 1.
func Speed(n float64) Option {
	return func(o *options) { o.clock = fmt.Sprintf("virtual=%v", n) }
}

// RealClock lets the cluster run on the machine's clock, which cannot be controlled.
func RealClock() Option { return func(o *options) { o.clock = "real" } }

// Stderr receives what minikcm writes to standard error, as it is written. Errors of Run
// contain its last part in any case.
func Stderr(w io.Writer) Option { return func(o *options) { o.stderr = w } }
