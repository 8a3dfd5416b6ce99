package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// tamperMain does to a ledger what nobody should: tamper FILE STATEMENT runs a statement with the
// guards taken away.
func tamperMain() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tamper FILE STATEMENT")
		os.Exit(2)
	}
	if err := tamper(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tamper(file, statement string) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(full)}).String())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"DROP TRIGGER IF EXISTS records_stay", "DROP TRIGGER IF EXISTS records_stay_same", statement,
	} {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}
