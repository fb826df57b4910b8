package placement

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"os"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // the SQLite driver of DBOS
)

// DBOS application names.
const (
	serveApp = "ponder"
	soloApp  = "ponder-solo"
)

// logFormat is part of the application version. Change it when processes can no longer take over
// workflows of older versions, for example because thread names change.
const logFormat = "-log-1"

// maxRecoveries effectively removes the limit on taking over a workflow.
const maxRecoveries = 1 << 30

func (k *keeper) launchDBOS() (dbos.Context, error) {
	app := soloApp
	if k.place.Serve {
		app = serveApp
	}
	d, err := newDBOS(k.place, app)
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(d, k.periodWorkflow, dbos.WithWorkflowName(periodName), dbos.WithMaxRecoveryAttempts(maxRecoveries))
	dbos.RegisterWorkflow(d, k.tickWorkflow, dbos.WithWorkflowName(tickName), dbos.WithMaxRecoveryAttempts(maxRecoveries))
	dbos.ListenQueues(d, k.queueNames()...)
	if err := dbos.Launch(d); err != nil {
		return nil, fmt.Errorf("launch dbos: %w", err)
	}
	if k.place.Serve {
		if err := registerQueue(d, k.place.PerOwner); err != nil {
			dbos.Shutdown(d, shutdownTime)
			return nil, err
		}
	}
	return d, nil
}

// forbiddenEnv are variables that change the identity of DBOS or make it report to a cloud.
var forbiddenEnv = [...]string{"DBOS__VMID", "DBOS__APPVERSION", "DBOS__CLOUD"}

// newDBOS returns a DBOS context that is not yet launched.
func newDBOS(p *Placement, app string) (dbos.Context, error) {
	for _, name := range forbiddenEnv {
		if os.Getenv(name) != "" {
			return nil, fmt.Errorf("connect dbos: the environment variable %s is set; unset it", name)
		}
	}
	current, err := createTables(context.Background(), p.DB)
	if err != nil {
		return nil, fmt.Errorf("create the tables of dbos: %w", err)
	}
	db := borrowDB(p.DB)
	d, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName:                  app,
		ApplicationVersion:       app + logFormat,
		ExecutorID:               string(p.Node.ID),
		SQLiteSystemDB:           db,
		Logger:                   dbosLogger(p.ctx, p.Logger),
		SchedulerPollingInterval: schedulesEvery,
		SkipMigrations:           current,
	})
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("connect dbos: %w", err)
	}
	return d, nil
}

// schema creates the tables of DBOS in one transaction. The migrations of DBOS need about fifty,
// and two processes must not run them at once.
//
//go:embed schema.sql
var schema string

const schemaVersion = 112

// createTables creates missing tables of DBOS. It returns false if DBOS must migrate existing
// tables.
func createTables(ctx context.Context, db *sql.DB) (current bool, err error) {
	version, err := tablesVersion(ctx, db)
	if err != nil || version > 0 {
		return version >= schemaVersion, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	// Another process may have created them.
	if version, err = tablesVersion(ctx, tx); err != nil || version > 0 {
		return version >= schemaVersion, err
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// tablesVersion returns the migration version, 0 without tables.
func tablesVersion(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	var tables int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'dbos_migrations'`).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	return version, db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM dbos_migrations`).Scan(&version)
}
