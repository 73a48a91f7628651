package xdsd

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// storeFlags are the flags of the commands of a store.
type storeFlags struct {
	url, author, format string
	timeout             time.Duration
}

func (f *storeFlags) add(s *flag.FlagSet) {
	s.StringVar(&f.url, "store", os.Getenv("XDSD_STORE"), "the `URL` of the store: etcd://HOST:PORT,…/TENANT; default: the variable XDSD_STORE")
	s.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `time`")
	s.StringVar(&f.format, "o", "table", "the `form` of the output: table or json")
	s.StringVar(&f.author, "author", os.Getenv("USER"), "your `name` in the history")
}

// with calls a function with the open store.
func (a *app) with(ctx context.Context, f *storeFlags, call func(ctx context.Context, s *etcd.Store) error) error {
	if f.url == "" {
		return errors.New("-store; must be set to the URL of the store")
	}
	if f.format != "table" && f.format != "json" {
		return fmt.Errorf("-o = %q; must be table or json", f.format)
	}
	s, err := a.openStore(f.url, f.author)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // everything was confirmed
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = call(ctx, s)
	var rejected *publish.Rejected
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.As(err, &rejected) || errors.Is(err, publish.ErrConflict):
		return &exitError{exitRejected, err}
	}
	return &exitError{exitUnreachable, err}
}

// publish puts the resources of a folder into a store.
func (a *app) publish(ctx context.Context, args []string) error {
	var f storeFlags
	s := flag.NewFlagSet("publish", flag.ContinueOnError)
	f.add(s)
	replace := s.Bool("replace", false, "delete all resources of the store that the folder does not have")
	references := s.Bool("references", false, "reject resources that refer to a resource that does not exist")
	unchanged := s.Uint64("if-revision", 0, "publish only if the store has this `revision`")
	var allowed deletionsFlag
	allowed.add(s)
	rest, err := a.parse(s, args, 1, 1, "DIR")
	if err != nil {
		return err
	}
	resources, err := a.readDir(ctx, rest[0])
	if err != nil {
		return err
	}
	return a.with(ctx, &f, func(ctx context.Context, s *etcd.Store) error {
		now, err := s.State(ctx, 0)
		if err != nil {
			return err
		}
		if *unchanged != 0 && now.Revision != source.Revision(*unchanged) {
			return fmt.Errorf("revision = %d; must be %d: %w", now.Revision, *unchanged, publish.ErrConflict)
		}
		return a.commit(ctx, s, change{now, changesOf(now, resources, *replace), int(allowed), *references})
	})
}

// changesOf returns a transaction that leads from a state to the given resources.
func changesOf(now *etcd.State, resources []source.Resource, replace bool) *publish.Tx {
	tx := new(publish.Tx).IfUnchanged(now.Revision)
	has := make(map[source.Key]string, len(now.Resources))
	for i := range now.Resources {
		has[now.Resources[i].Key] = now.Resources[i].Version
	}
	for i := range resources {
		r := resources[i]
		if version, ok := has[r.Key]; !ok || !source.SameVersion(version, r.Version) {
			tx.Put(r)
		}
		delete(has, r.Key)
	}
	for i := range now.Resources {
		if _, gone := has[now.Resources[i].Key]; gone && replace {
			tx.Delete(now.Resources[i].Key)
		}
	}
	return tx
}

// A change is a transaction of a command.
type change struct {
	now        *etcd.State // of the store
	tx         *publish.Tx
	deletions  int // that are allowed
	references bool
}

// commit commits a transaction with a check of its resources and of its deletions.
func (a *app) commit(ctx context.Context, s *etcd.Store, c change) error {
	puts, deletes := 0, 0
	for i := range c.tx.Operations() {
		if c.tx.Operations()[i].Delete {
			deletes++
		} else {
			puts++
		}
	}
	if puts+deletes == 0 {
		fmt.Fprintln(a.stdout, "nothing to change")
		return nil
	}
	keys := func(yield func(publish.Key) bool) {
		for i := range c.now.Resources {
			if !yield(c.now.Resources[i].Key) {
				return
			}
		}
	}
	if err := publish.CheckDeletions(c.tx, keys, c.deletions); err != nil {
		return &exitError{exitRejected, fmt.Errorf("%w; add -allow-deletions %d if that is what you want", err, deletes)}
	}
	var options []publish.Option
	if c.references {
		options = append(options, publish.WithReferences())
	}
	revision, err := publish.NewChecked(s, a.types, options...).Commit(ctx, c.tx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "revision %d: %d put, %d deleted\n", revision, puts, deletes)
	return nil
}

// list lists the resources of a store.
func (a *app) list(ctx context.Context, args []string) error {
	var f storeFlags
	s := flag.NewFlagSet("list", flag.ContinueOnError)
	f.add(s)
	at := s.Uint64("revision", 0, "list the resources of this earlier `revision`")
	if _, err := a.parse(s, args, 0, 0, ""); err != nil {
		return err
	}
	return a.with(ctx, &f, func(ctx context.Context, s *etcd.Store) error {
		state, err := s.State(ctx, source.Revision(*at))
		if err != nil {
			return err
		}
		type row struct {
			Revision uint64 `json:"revision"`
			Type     string `json:"type"`
			Name     string `json:"name"`
			Version  string `json:"version"`
			Bytes    int    `json:"bytes"`
		}
		rows := make([]row, 0, len(state.Resources))
		for i := range state.Resources {
			r := &state.Resources[i]
			rows = append(rows, row{uint64(r.Revision), r.Type, r.Name, r.Version, len(r.Body)})
		}
		for _, err := range state.Invalid {
			a.print("%v", err)
		}
		if f.format == "json" {
			return json.NewEncoder(a.stdout).Encode(rows)
		}
		return a.table("REVISION\tTYPE\tNAME\tVERSION\tBYTES", len(rows), func(i int) []any {
			return []any{rows[i].Revision, rows[i].Type[strings.LastIndexByte(rows[i].Type, '/')+1:], rows[i].Name, rows[i].Version, rows[i].Bytes}
		})
	})
}

// history lists the last commits of a store.
func (a *app) history(ctx context.Context, args []string) error {
	var f storeFlags
	s := flag.NewFlagSet("history", flag.ContinueOnError)
	f.add(s)
	limit := s.Int("n", 20, "list this `number` of commits")
	if _, err := a.parse(s, args, 0, 0, ""); err != nil {
		return err
	}
	return a.with(ctx, &f, func(ctx context.Context, s *etcd.Store) error {
		commits, err := s.History(ctx, *limit)
		if err != nil {
			return err
		}
		if f.format == "json" {
			return json.NewEncoder(a.stdout).Encode(commits)
		}
		return a.table("REVISION\tTIME\tAUTHOR\tPUT\tDELETED\tFIRST", len(commits), func(i int) []any {
			c := &commits[i]
			return []any{uint64(c.Revision), c.Time.UTC().Format(time.RFC3339), c.Author, c.Puts, c.Deletes, c.First}
		})
	})
}

// rollback returns to the resources of an earlier revision.
func (a *app) rollback(ctx context.Context, args []string) error {
	var f storeFlags
	s := flag.NewFlagSet("rollback", flag.ContinueOnError)
	f.add(s)
	var allowed deletionsFlag
	allowed.add(s)
	rest, err := a.parse(s, args, 1, 1, "REVISION")
	if err != nil {
		return err
	}
	to, err := strconv.ParseUint(rest[0], 10, 63)
	if err != nil {
		return fmt.Errorf("revision = %q; must be a number", rest[0])
	}
	return a.with(ctx, &f, func(ctx context.Context, s *etcd.Store) error {
		tx, err := s.RollbackTx(ctx, source.Revision(to))
		if err != nil {
			return err
		}
		now, err := s.State(ctx, 0)
		if err != nil {
			return err
		}
		return a.commit(ctx, s, change{now: now, tx: tx, deletions: int(allowed)})
	})
}

// table prints a table. Texts are escaped.
func (a *app) table(header string, n int, row func(i int) []any) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for i := range n {
		for j, v := range row(i) {
			if j > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, printable.Text(fmt.Sprint(v), printable.Quoted))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
