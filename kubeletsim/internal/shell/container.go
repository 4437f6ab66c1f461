package shell

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Reader is an input that a context interrupts.
type Reader interface {
	ReadContext(ctx context.Context, into []byte) (int, error)
}

// Writer is an output that a context interrupts.
type Writer interface {
	WriteContext(ctx context.Context, data []byte) (int, error)
}

// File is an open file. One whose Read waits is a Reader, too.
type File interface {
	io.ReadWriteCloser
}

// Container gives a shell access to its container. Paths are absolute. Its methods may be called
// concurrently.
type Container interface {
	Memory
	// Open opens a file with the flags of os.OpenFile.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Connect opens a path that names a network connection, such as /dev/tcp/HOST/PORT; nil if it names a file. The error
	// is the reason that a program shows, unless the context has ended.
	Connect(ctx context.Context, name string) (File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	// Find returns the path of the program that a command names; "" if there is none, and unknown.Text if
	// there may be one.
	Find(name, dir, path string) string
	// Run runs a program to its end and returns its status, which may be unknown. The error ends the run of
	// the shell.
	Run(ctx context.Context, p *Program) (status int, err error)
	// Before is called before each command. It returns handlers of signals that are to be executed first;
	// none for a subshell, which leaves them to the shell that it is of.
	Before(ctx context.Context, subshell bool) (handlers []string, err error)
	// Trap sets the handler of a signal; remove: removes it. It returns false for an unknown signal.
	Trap(signal, handler string, remove bool) bool
	// Waits is called before the shell waits for its jobs.
	Waits()
	// Kill sends a signal to a process that is none of the shell's jobs, and returns the status of kill.
	Kill(ctx context.Context, p *Program) int
	// Spawn runs do on another goroutine, which may outlive the shell. Its context ends with the
	// container's command, or when cancel is called.
	Spawn(ctx context.Context, do func(ctx context.Context)) (cancel func())
	Now() time.Time
	// Assume records what is assumed of the container's unknown content: "NAME exists".
	Assume(what string)
	// Changing reports whether a program of which nothing is known has run in the container, and so may have
	// made files.
	Changing() bool
	// Partial reports whether a directory may have entries that ReadDir does not list.
	Partial(dir string) bool
}

// Program is a program that a shell starts. In may be nil: there is no input.
type Program struct {
	// Shell is the name ($0) of the shell that starts the program, which its messages begin with.
	Shell string
	Args  []string
	Env   map[string]string
	Dir   string
	In    Reader
	Out   Writer
	Err   Writer
	// Seed determines the random numbers of the program.
	Seed uint64
	PID  int
	// Descriptors are further streams, which the program opens as /dev/fd/3 and so on.
	Descriptors map[int]Descriptor
	// Awaits means that a file that may be there is not: a loop of the shell waits for it.
	Awaits bool
}

// Descriptor is an open file of a program. In or Out may be nil.
type Descriptor struct {
	In  Reader
	Out Writer
}

// Config describes a shell.
type Config struct {
	Container Container
	// Name is $0 and Args are $1 and so on.
	Name string
	Args []string
	// Env are the variables that the shell inherits.
	Env map[string]string
	Dir string
	// In may be nil: there is no input.
	In       Reader
	Out, Err Writer
	// Descriptors are further streams that the shell inherits, by number.
	Descriptors map[int]Descriptor
	// Seed determines $RANDOM.
	Seed uint64
	// PID is $$.
	PID int
	// Lasts means that the container runs until it is stopped, so that an unknown program may, too.
	Lasts bool
	// UID and GID are $UID and $GID.
	UID, GID int64
	// Interactive keeps a failed expansion from ending the shell.
	Interactive bool
}
