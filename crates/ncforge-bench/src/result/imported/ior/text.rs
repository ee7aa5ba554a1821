//! What IOR prints for people, which is what most people keep.
//!
//! A file may hold several runs, with anything between them. Each tells its options (`name : value` since 3.2, `name = value` before), then a
//! table with a line for each phase and repetition; columns have been added over time, so the table's head says which is which. What stands under
//! `Summary of all tests` are means of these, and is left alone.

use super::{Phase, Test, finished, put};
use crate::result::{Results, Row};

/// What every run begins with; its version stands before.
const TITLE: &str = ": MPI Coordinated Test of Parallel I/O";

/// The results of a text; `None` where IOR has not printed it.
pub(in crate::result::imported) fn read(text: &str) -> Option<Results> {
    if !text.contains(TITLE) {
        return None;
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut test = Test::default();
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix(TITLE) {
            let version = name.rsplit("IOR-").next().unwrap_or_default().to_owned();
            (test, columns) = (Test { version, ..Test::default() }, Vec::new());
        } else if line == "Options:" || line == "Summary:" {
            // Another test of the same run.
            (test, columns) = (Test { version: test.version, ..Test::default() }, Vec::new());
        } else if line.starts_with("access ") && line.contains("bw(MiB/s)") {
            columns = line.split_whitespace().collect();
        } else if line.starts_with("Operation ") {
            columns.clear();
        } else if columns.is_empty() {
            test.take(line);
        } else if let Some(phase) = phase(&columns, line) {
            put(&mut rows, &test, &phase);
        }
    }
    finished(rows)
}

/// A line of the table; `None` for removals, remarks, and what is no line of it.
fn phase(columns: &[&str], line: &str) -> Option<Phase> {
    let cells: Vec<&str> = line.split_whitespace().collect();
    if cells.len() != columns.len() {
        return None;
    }
    let number = |name: &str| {
        let at = columns.iter().position(|c| *c == name)?;
        cells[at].parse::<f64>().ok().and_then(super::seconds)
    };
    let bytes = |name: &str| number(name).map_or(0, |kib| (kib * 1024.0).round() as u64);
    Some(Phase {
        name: cells[0].to_owned(),
        rate: number("bw(MiB/s)")?,
        total: number("total(s)")?,
        calls: number("wr/rd(s)")?,
        open: number("open(s)"),
        close: number("close(s)"),
        block: bytes("block(KiB)"),
        transfer: bytes("xfer(KiB)"),
    })
}

impl Test {
    /// An option, as newer or older versions print it.
    fn take(&mut self, line: &str) {
        let Some((name, value)) = line.split_once([':', '=']) else { return };
        let value = value.trim();
        let first = || value.split([' ', '(']).next().filter(|w| !w.is_empty());
        let count = || first().and_then(|n| n.parse().ok());
        match name.trim() {
            "api" => self.interface = first().map(str::to_owned),
            "tasks" | "clients" => self.tasks = count(),
            "segments" => self.segments = count(),
            // "strided (5 segments)"
            "pattern" => {
                self.segments =
                    value.split_once('(').and_then(|(_, n)| n.split_whitespace().next()?.parse().ok());
            }
            "access" => {
                self.file_each = Some(value.starts_with("file-per-process"));
                // Older versions tell it here, if they were asked to tell more.
                if let Some((_, how)) = value.split_once(", ") {
                    self.collective = Some(how == "collective");
                }
            }
            "type" => self.collective = Some(value == "collective"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two runs of a user's, one after the other in a file, without some lines of options: IOR 3.3.0 on GPFS.
    const SEVERAL: &str = "\
mpi with 4k file POSIX
4
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Wed Jan 19 07:04:22 2022
Command line        : ior -i 1 -t 4k -b 1024k -s 4096 -C -F -e

Options: 
api                 : POSIX
apiVersion          : 
test filename       : testFile
access              : file-per-process
type                : independent
segments            : 4096
ordering in a file  : sequential
nodes               : 1
tasks               : 4
repetitions         : 1
xfersize            : 4096 bytes
blocksize           : 1 MiB
aggregate filesize  : 16 GiB

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     2030.54    519844     0.030358    1024.00    4.00       0.001463   8.07       1.13       8.07       0   
read      1968.99    504065     0.032355    1024.00    4.00       0.000037   8.32       0.055648   8.32       0   
remove    -          -          -           -          -          -          -          -          0.001426   0   
Max Write: 2030.54 MiB/sec (2129.18 MB/sec)
Max Read:  1968.99 MiB/sec (2064.63 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum
write        2030.54    2030.54    2030.54       0.00  519818.29  519818.29  519818.29       0.00    8.06879         NA            NA     0      4   4    1   1     1        1         0    0   4096  1048576     4096   16384.0 POSIX      0
read         1968.99    1968.99    1968.99       0.00  504060.67  504060.67  504060.67       0.00    8.32103         NA            NA     0      4   4    1   1     1        1         0    0   4096  1048576     4096   16384.0 POSIX      0
Finished            : Wed Jan 19 07:04:38 2022
16
IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Wed Jan 19 07:04:39 2022

Options: 
api                 : POSIX
access              : file-per-process
type                : independent
segments            : 1024
tasks               : 16

Results: 

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     2123.50    543658     0.029112    1024.00    4.00       0.003692   7.71       0.449139   7.72       0   
Finished            : Wed Jan 19 07:04:55 2022
";

    #[test]
    fn several_runs_in_a_file_are_told_apart() {
        let rows = read(SEVERAL).unwrap().sections.swap_remove(0).rows;
        let told: Vec<_> = rows.iter().map(|r| (r.case.as_str(), r.phase.as_str(), r.bytes)).collect();
        let few = "ior, POSIX, 4 tasks, blocks of 1.00 MiB by 4.00 KiB, a file each";
        let more = "ior, POSIX, 16 tasks, blocks of 1.00 MiB by 4.00 KiB, a file each";
        assert_eq!(told, [(few, "write", 16 << 30), (few, "read", 16 << 30), (more, "write", 16 << 30)]);
        assert_eq!((rows[0].version.as_str(), rows[0].facts["access"].as_str()), ("3.3.0", "file"));
        let m = &rows[1].measurements[0];
        assert_eq!((m.seconds, m.open, m.close), (8.32, Some(0.000_037), Some(0.055_648)));
    }

    /// IOR 3.0.1 of a site's documentation, with two `-v`.
    #[test]
    fn older_versions_have_other_options_and_fewer_columns() {
        let text = "\
IOR-3.0.1: MPI Coordinated Test of Parallel I/O

Began: Fri Mar 22 12:28:11 2019
Machine: Linux node 3.10.0 x86_64
Using synchronized MPI timer
Test 0 started: Fri Mar 22 12:28:11 2019
Participating tasks: 16
task 0 on node
Summary:
        api                = MPIIO (version=3, subversion=1)
        test filename      = testFile
        access             = single-shared-file, collective
        pattern            = segmented (1 segment)
        ordering in a file = sequential offsets
        ordering inter file= no tasks offsets
        clients            = 16 (8 per node)
        repetitions        = 1
        xfersize           = 262144 bytes
        blocksize          = 1 MiB
        aggregate filesize = 16 MiB
Using Time Stamp 1553272091 (0x5c950d1b) for Data Signature

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
Commencing write performance test: Fri Mar 22 12:28:11 2019
write     143.22     1024.00    256.00     0.085481   0.086161   0.108553   0.111720   0   
Commencing read performance test: Fri Mar 22 12:28:11 2019
read      9049       1024.00    256.00     0.001146   0.001161   0.000643   0.001768   0   
remove    -          -          -          -          -          -          0.002378   0   

Max Write: 143.22 MiB/sec (150.17 MB/sec)
Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum
write         143.22     143.22     143.22       0.00    0.11172 0 16 8 1 0 0 1 0 0 1 1048576 262144 16777216 POSIX 0
";
        let rows = read(text).unwrap().sections.swap_remove(0).rows;
        assert_eq!(
            rows.iter().map(|r| (r.phase.as_str(), r.bytes)).collect::<Vec<_>>(),
            [("write", 16 << 20), ("read", 16 << 20)]
        );
        assert_eq!(rows[0].case, "ior, MPIIO, 16 tasks, blocks of 1.00 MiB by 256 KiB, collective");
        assert_eq!((rows[0].facts["access"].as_str(), rows[0].facts["ranks"].as_str()), ("coll", "16"));
        assert_eq!(rows[0].measurements[0].seconds, 0.086_161);
        // Where the options are gone, what was moved follows from rate and time.
        let (_, table) = text.split_once("\n\n").unwrap();
        let (_, table) = table.split_once("\n\n").unwrap();
        let short = format!("IOR-3.2.0: MPI Coordinated Test of Parallel I/O\n{table}");
        let rows = read(&short).unwrap().sections.swap_remove(0).rows;
        assert!(rows[0].bytes.abs_diff(16 << 20) < 1 << 10 && !rows[0].facts.contains_key("ranks"));
    }

    #[test]
    fn other_texts_are_none() {
        let title = "IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n";
        let head = "access bw(MiB/s) wr/rd(s) total(s)\n";
        for text in [
            "",
            title,
            &format!("{title}{head}"),
            &format!("{title}{head}write 1 x 2"),
            &format!("{head}write 1 1 1"),
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
