package box

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/applets"
)

// programs returns the implementations of applets.Names.
func programs() map[string]program {
	return map[string]program{
		"[": builtin, "echo": builtin, "printf": builtin, "pwd": builtin, "test": builtin, "true": builtin, "false": builtin,
		"sh": runShell, "ash": runShell, "bash": runShell, "dash": runShell, "busybox": busybox,
		"cat": cat, "head": head, "tail": tail, "wc": wc, "grep": grep, "egrep": grep, "sort": sortLines, "uniq": uniq, "cut": cut,
		"tr": tr, "tee": tee, "base64": encode64, "sha256sum": sum, "md5sum": sum, "rev": rev, "tac": tac, "nl": nl, "xargs": xargs,
		"ls": ls, "mkdir": mkdir, "rm": rm, "rmdir": rmdir, "cp": cp, "mv": mv, "touch": touch, "ln": ln, "chmod": chmod, "chown": chown,
		"stat": stat, "find": find, "du": du, "df": df, "readlink": readlink, "realpath": realpath, "basename": basename, "dirname": dirname,
		"mktemp": mktemp, "mount": showMounts, "tar": tar,
		"date": date, "sleep": sleep, "usleep": sleep, "seq": seq, "expr": expr, "hostname": hostname, "uname": uname, "id": id, "whoami": whoami, "env": env,
		"printenv": printenv, "which": which, "ps": ps, "kill": kill, "nproc": nproc, "uptime": uptime, "umask": umask, "tty": tty, "stty": stty, "sysctl": sysctl, "sync": syncFiles,
		"clear": clearScreen, "yes": yes, "timeout": timeout, "time": timed,
		"minikcm-certgen": certgen,
	}
}

// busybox runs the program that its first argument names.
func busybox(ctx context.Context, p *proc) int {
	if len(p.args) < 2 || p.args[1] == "--help" || p.args[1] == "--list" {
		p.print("%s\n", strings.Join(applets.Names(), "\n"))
		return 0
	}
	run := programs()[p.args[1]]
	if run == nil {
		return p.fail("%s: applet not found", p.args[1]) + exitNotFound - 1
	}
	inner := *p
	inner.args = p.args[1:]
	return run(ctx, &inner)
}

// certgen runs the machine's program that makes certificates.
func certgen(ctx context.Context, p *proc) int {
	if p.machine.Certgen == nil {
		return p.fail("the container has no access to the API server")
	}
	return p.machine.Certgen(ctx, p.args[1:], p.out, p.err)
}

// options splits a program's arguments into flags and the rest. takes are the letters
// whose flags have a value. It returns the first flag that is not among known.
func options(args []string, known, takes string) (flags map[byte]string, rest []string, unknown string) {
	flags = map[byte]string{}
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return flags, append(rest, args[1:]...), ""
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			args = args[1:]
			continue
		}
		args = args[1:]
		for i := 1; i < len(arg); i++ {
			c := arg[i]
			switch {
			case strings.IndexByte(takes, c) >= 0:
				value := arg[i+1:]
				if value == "" && len(args) > 0 {
					value, args = args[0], args[1:]
				}
				flags[c] = value
				i = len(arg)
			case strings.IndexByte(known, c) >= 0:
				flags[c] = "set"
			default:
				return flags, rest, string(c)
			}
		}
	}
	return flags, rest, ""
}

// parse is options for a program that fails on an unknown flag.
func (p *proc) parse(known, takes string) (flags map[byte]string, rest []string, ok bool) {
	flags, rest, unknown := options(p.args[1:], known, takes)
	if unknown != "" {
		p.fail("unrecognized option: %s", unknown)
		return nil, nil, false
	}
	return flags, rest, true
}

func has(flags map[byte]string, c byte) bool {
	_, ok := flags[c]
	return ok
}
