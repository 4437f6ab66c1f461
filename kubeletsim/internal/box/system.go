package box

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/span"
	"minikcm.dev/minikcm/kubeletsim/internal/applets"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func date(_ context.Context, p *proc) int {
	format := "%a %b %e %H:%M:%S UTC %Y"
	now := p.machine.Clock.Now()
	at := now
	for args := p.args[1:]; len(args) > 0; args = args[1:] {
		arg := args[0]
		text, given := strings.CutPrefix(arg, "--date=")
		if (arg == "-d" || arg == "--date") && len(args) > 1 {
			text, given, args = args[1], true, args[1:]
		} else if rest, joined := strings.CutPrefix(arg, "-d"); joined && rest != "" {
			text, given = rest, true
		}
		ok := true
		switch {
		case given:
			if unknown.In(text) {
				p.guess.made = true
				return 1
			}
			if at, ok = applets.ParseDate(text, now); !ok {
				return p.fail("invalid date '%s'", text)
			}
		case arg == "-u" || arg == "--utc" || arg == "--universal":
		case arg == "-R" || arg == "--rfc-email" || arg == "--rfc-2822":
			format = "%a, %d %b %Y %H:%M:%S +0000"
		case strings.HasPrefix(arg, "-I") || strings.HasPrefix(arg, "--iso-8601") || strings.HasPrefix(arg, "--rfc-3339"):
			format = isoFormat(arg)
		case arg == "-r" && len(args) > 1:
			args = args[1:]
			if at, ok = p.referenceTime(args[0]); !ok {
				return p.fail("invalid date '%s'", args[0])
			}
		case strings.HasPrefix(arg, "+"):
			format = arg[1:]
		default:
			return p.unsupported(arg)
		}
	}
	text, _ := applets.FormatDate(at.UTC(), format)
	p.print("%s\n", text)
	return 0
}

// isoFormat returns the format of -I, --iso-8601 and --rfc-3339 with a precision.
func isoFormat(arg string) string {
	between := "T"
	if strings.HasPrefix(arg, "--rfc") {
		between = " "
	}
	switch {
	case strings.HasSuffix(arg, "ns"):
		return "%F" + between + "%T.%N+00:00"
	case strings.HasSuffix(arg, "seconds"), arg == "-Is":
		return "%F" + between + "%T+00:00"
	case strings.HasSuffix(arg, "minutes"), arg == "-Im":
		return "%F" + between + "%H:%M+00:00"
	}
	return "%F"
}

// referenceTime returns the time of date -r: when a file was modified, or a number of seconds.
func (p *proc) referenceTime(arg string) (time.Time, bool) {
	if info, err := p.machine.Files.Stat(p.path(arg)); err == nil {
		return info.ModTime(), true
	}
	seconds, err := strconv.ParseInt(arg, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

func sleep(ctx context.Context, p *proc) int {
	if len(p.args) < 2 {
		return p.fail("missing operand")
	}
	var total time.Duration
	for _, arg := range p.args[1:] {
		d, err := applets.ParseSleep(arg)
		if err != nil {
			return p.fail("invalid number '%s'", arg)
		}
		if path.Base(p.args[0]) == "usleep" {
			d /= 1e6
		}
		if total += d; total < 0 || d == span.Forever {
			total = span.Forever
			break
		}
	}
	if err := p.sleep(ctx, total); err != nil {
		return exitInterrupted
	}
	return 0
}

func seq(_ context.Context, p *proc) int {
	separator, wide, args := "\n", false, p.args[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && (args[0][1] < '0' || args[0][1] > '9') && args[0][1] != '.' {
		switch flag := args[0]; {
		case flag == "-w" || flag == "--equal-width":
			wide = true
		case flag == "-s" && len(args) > 1:
			args = args[1:]
			separator = args[0]
		case strings.HasPrefix(flag, "-s"):
			separator = flag[2:]
		default:
			return p.unsupported(flag)
		}
		args = args[1:]
	}
	var numbers []float64
	for _, arg := range args {
		n, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return p.fail("invalid number '%s'", arg)
		}
		numbers = append(numbers, n)
	}
	first, step, last := 1.0, 1.0, 0.0
	switch len(numbers) {
	case 1:
		last = numbers[0]
	case 2:
		first, last = numbers[0], numbers[1]
	case 3:
		first, step, last = numbers[0], numbers[1], numbers[2]
	default:
		return p.fail("one to three numbers are needed")
	}
	if step == 0 {
		return p.fail("the step must not be 0")
	}
	width := 0
	if wide {
		width = max(len(strconv.FormatFloat(first, 'f', -1, 64)), len(strconv.FormatFloat(last, 'f', -1, 64)))
	}
	for i := 0; ; i++ {
		n := first + float64(i)*step
		if step > 0 && n > last || step < 0 && n < last {
			if i > 0 && separator != "\n" {
				p.print("\n")
			}
			return 0
		}
		text := strconv.FormatFloat(n, 'f', -1, 64)
		if missing := width - len(text); missing > 0 {
			text = strings.Repeat("0", missing) + text
		}
		if i > 0 && separator != "\n" {
			text = separator + text
		} else if separator == "\n" {
			text += separator
		}
		if _, err := io.WriteString(p.out, text); err != nil {
			return 1
		}
	}
}

func hostname(_ context.Context, p *proc) int {
	name := p.machine.Hostname
	for _, arg := range p.args[1:] {
		switch arg {
		case "-i", "-I":
			name = p.hostsEntry()[0]
		case "-s":
			name, _, _ = strings.Cut(name, ".")
		case "-f":
			name = p.fullName()
		case "-d":
			_, name, _ = strings.Cut(p.fullName(), ".")
		default:
			return p.fail("sethostname: Operation not permitted")
		}
	}
	p.print("%s\n", name)
	return 0
}

// fullName returns the first name that /etc/hosts has for the machine, which is the one with its domain.
func (p *proc) fullName() string {
	if names := p.hostsEntry()[1:]; len(names) > 0 {
		return names[0]
	}
	return p.machine.Hostname
}

// hostsEntry returns the machine's own address and names from /etc/hosts. Without an entry, the address is empty.
func (p *proc) hostsEntry() []string {
	hosts, err := p.machine.Files.ReadFile("/etc/hosts")
	if err != nil {
		return []string{""}
	}
	for line := range strings.Lines(string(hosts)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && slices.Contains(fields[1:], p.machine.Hostname) {
			return fields
		}
	}
	return []string{""}
}

func uname(_ context.Context, p *proc) int {
	flags, _, ok := p.parse("asnrvmpio", "")
	if !ok {
		return 1
	}
	if len(flags) == 0 {
		flags = map[byte]string{'s': ""}
	}
	var out []string
	for _, part := range []struct {
		flag byte
		text string
	}{
		{'s', "Linux"}, {'n', p.machine.Hostname}, {'r', "6.1.0-minikcm"}, {'v', "#1 SMP minikcm"}, {'m', "x86_64"}, {'o', "GNU/Linux"},
	} {
		if has(flags, part.flag) || has(flags, 'a') {
			out = append(out, part.text)
		}
	}
	p.print("%s\n", strings.Join(out, " "))
	return 0
}

func env(ctx context.Context, p *proc) int {
	vars := maps.Clone(p.env)
	args, end := p.args[1:], "\n"
	for len(args) > 0 {
		name, value, assigns := strings.Cut(args[0], "=")
		switch {
		case args[0] == "-i" || args[0] == "-" || args[0] == "--ignore-environment":
			clear(vars)
		case args[0] == "-0" || args[0] == "--null":
			end = "\x00"
		case args[0] == "-u" && len(args) > 1:
			args = args[1:]
			delete(vars, args[0])
		case name == "--unset":
			delete(vars, value)
		case (args[0] == "-C" || args[0] == "--chdir") && len(args) > 1:
			args = args[1:]
			p.dir = p.path(args[0])
		case args[0] == "-S" && len(args) > 1:
			args = append([]string{""}, append(strings.Fields(args[1]), args[2:]...)...)
		case args[0] == "--":
		case assigns:
			vars[name] = value
		case strings.HasPrefix(args[0], "-"):
			return p.unsupported(args[0])
		default:
			return p.become(ctx, p.inner(ctx, args, vars))
		}
		args = args[1:]
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		p.print("%s=%s%s", name, vars[name], end)
	}
	return 0
}

func printenv(ctx context.Context, p *proc) int {
	if len(p.args) == 1 {
		return env(ctx, p)
	}
	code := 0
	for _, name := range p.args[1:] {
		value, ok := p.env[name]
		if !ok {
			code = 1
			continue
		}
		p.print("%s\n", value)
	}
	return code
}

func which(_ context.Context, p *proc) int {
	code := 0
	for _, name := range p.args[1:] {
		switch file := p.Find(name, p.dir, p.env["PATH"]); {
		case unknown.In(file):
			p.guessThat(unknown.Show(name) + " exists")
			code = 1
		case file == "":
			code = 1
		default:
			p.print("%s\n", file)
		}
	}
	return code
}

func ps(_ context.Context, p *proc) int {
	p.print("PID   USER     TIME  COMMAND\n")
	processes := p.machine.Processes
	next := 1
	for _, process := range processes {
		p.print("%5d %-8s  0:00 %s\n", process.PID, p.ownerName(), process.Command)
		next = max(next, process.PID+1)
	}
	p.print("%5d %-8s  0:00 %s\n", next, p.ownerName(), strings.Join(p.args, " "))
	if p.machine.Unknown { // the container's own process may have started others
		p.print(unknown.Line)
	}
	return 0
}

// Signals returns the numbers of the signals that end a process, by name.
func Signals() map[string]int {
	return map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "USR1": 10, "USR2": 12, "TERM": 15}
}

func kill(_ context.Context, p *proc) int {
	signal, args := "TERM", p.args[1:]
	if len(args) > 0 && args[0] == "-l" {
		p.print("HUP INT QUIT KILL USR1 USR2 TERM\n")
		return 0
	}
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		signal = strings.TrimPrefix(strings.ToUpper(args[0][1:]), "SIG")
		for name, number := range Signals() {
			if signal == strconv.Itoa(number) {
				signal = name
			}
		}
		if _, known := Signals()[signal]; !known && signal != "0" {
			return p.fail("invalid signal '%s'", args[0][1:])
		}
		args = args[1:]
	}
	code := 0
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		i := slices.IndexFunc(p.machine.Processes, func(other Process) bool { return other.PID == pid })
		switch {
		case err != nil:
			code = p.fail("invalid number '%s'", arg)
		case i < 0:
			code = p.fail("can't kill pid %d: No such process", pid)
		case signal == "0" || p.machine.Signal == nil:
		default:
			if err := p.machine.Signal(p.machine.Processes[i], signal); err != nil {
				code = p.fail("can't kill pid %d: %v", pid, err)
			}
		}
	}
	return code
}

func nproc(_ context.Context, p *proc) int {
	p.print("1\n")
	return 0
}

func uptime(_ context.Context, p *proc) int {
	p.print(" %s up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n", p.machine.Clock.Now().UTC().Format(time.TimeOnly))
	return 0
}

func umask(_ context.Context, p *proc) int {
	if len(p.args) == 1 {
		p.print("0022\n")
	}
	return 0
}

func tty(_ context.Context, p *proc) int {
	if p.session.tty {
		p.print("/dev/pts/0\n")
		return 0
	}
	p.print("not a tty\n")
	return 1
}

func stty(_ context.Context, p *proc) int {
	if !p.session.tty {
		return p.fail("standard input: Not a tty")
	}
	width, height := uint16(80), uint16(24)
	if p.size != nil {
		if w, h := p.size(); w > 0 && h > 0 {
			width, height = w, h
		}
	}
	switch {
	case slices.Contains(p.args, "size"):
		p.print("%d %d\n", height, width)
	case len(p.args) == 1 || slices.Contains(p.args, "-a"):
		p.print("speed 38400 baud; rows %d; columns %d;\n", height, width)
	}
	return 0
}

func clearScreen(_ context.Context, p *proc) int {
	p.print("\x1b[H\x1b[J")
	return 0
}

func yes(_ context.Context, p *proc) int {
	text := "y"
	if len(p.args) > 1 {
		text = strings.Join(p.args[1:], " ")
	}
	text += "\n"
	if err := p.keep(len(text) + yesBlock); err != nil {
		return 1
	}
	block := []byte(strings.Repeat(text, yesBlock/len(text)+1))
	for {
		if _, err := p.out.Write(block); err != nil {
			return 1
		}
	}
}

// yesBlock is the number of bytes that yes writes at once.
const yesBlock = 4096

func timeout(ctx context.Context, p *proc) int {
	args := p.args[1:]
	preserve := false
	for len(args) > 1 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		if args = args[1:]; flag == "--" {
			break
		}
		preserve = preserve || flag == "--preserve-status" || flag == "-p"
		if flag == "-s" || flag == "-k" || flag == "--signal" || flag == "--kill-after" {
			args = args[1:]
		}
	}
	if len(args) < 2 {
		return p.fail("a time and a command are needed")
	}
	limit, err := applets.ParseSleep(args[0])
	if unknown.In(args[0]) {
		limit, err = span.Forever, nil
	}
	if err != nil {
		return p.fail("invalid number '%s'", args[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := p.machine.Clock.AfterFunc(limit, func() {
		cancel()
		p.attention.recall()
	})
	code := p.become(ctx, p.inner(ctx, args[1:], p.env))
	if !timer.Stop() {
		if preserve {
			return exitTerminated
		}
		return exitTimeout
	}
	return code
}

// timeout exits with exitTimeout if the command took too long, or with --preserve-status with exitTerminated,
// the status of a command that SIGTERM has ended.
const (
	exitTimeout    = 124
	exitTerminated = 143
)

func timed(ctx context.Context, p *proc) int {
	if len(p.args) < 2 {
		return 0
	}
	began := p.machine.Clock.Now()
	code := p.become(ctx, p.inner(ctx, p.args[1:], p.env))
	took := p.machine.Clock.Since(began)
	_, _ = fmt.Fprintf(p.err, "real\t%dm %.2fs\nuser\t0m 0.00s\nsys\t0m 0.00s\n", int(took.Minutes()), (took % time.Minute).Seconds())
	return code
}

func expr(_ context.Context, p *proc) int {
	value, holds, err := applets.Expr(p.args[1:])
	if err != nil {
		p.fail("%v", err)
		return 2
	}
	_, _ = fmt.Fprintln(p.out, value)
	if !holds {
		return 1
	}
	return 0
}
