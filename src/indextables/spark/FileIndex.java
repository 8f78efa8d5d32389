package indextables;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.reflect.Constructor;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier$;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable$;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType$;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BindReferences$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.MetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.package$AttributeSeq;
import org.apache.spark.sql.catalyst.types.DataTypeUtils$;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal$;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt$;

/** What the driver's Python talks to. One exists for each Java virtual machine. */
public class Bridge {
  private static final int THREADS = 4;
  private static final Cleaner CLEANER = Cleaner.create();
  private final ConcurrentLinkedQueue released = new ConcurrentLinkedQueue();
  private Function python;
  private ExecutorService threads;

  /** Takes the one Python object that answers questions, for all tables. */
  public void connect(Function python) {
    this.python = python;
    this.threads = org.apache.spark.util.ThreadUtils.newDaemonFixedThreadPool(THREADS, "indextables-listing");
  }

  /** Returns a DataFrame over one version of a table. */
  public Object read(
      SparkSession session, long source, String identity, String label, String root, String schema, byte[] partitions, long size, long rows) throws Exception {
    StructType columns = CharVarcharUtils$.MODULE$.replaceCharVarcharWithStringInSchema((StructType) DataType.fromJson(schema)).asNullable();
    IndexTables index = new IndexTables(this, source, identity, label, new Path(root), columns, partitions, size);
    CLEANER.register(index, new Release(released, source));
    HadoopFsRelation relation = new HadoopFsRelation(
        index, index.partitionSchema(), columns, Option.empty(), new ParquetFileFormat(), scala.collection.immutable.Map$.MODULE$.empty(), session);
    if (rows < 0) return session.baseRelationToDataFrame(relation);
    CatalogTable table = catalogued(root, columns, relation.sizeInBytes(), rows);
    return Dataset$.MODULE$.ofRows((org.apache.spark.sql.classic.SparkSession) session, LogicalRelation$.MODULE$.apply(relation, table));
  }

  /** An entry that no catalog has: a relation can tell the optimiser how many rows it has in this way only. Versions of Spark differ in what else is in it. */
  private static CatalogTable catalogued(String name, StructType columns, long size, long rows) throws Exception {
    Constructor constructor = CatalogTable.class.getConstructors()[0];
    Type[] types = constructor.getGenericParameterTypes();
    Object[] values = new Object[types.length];
    values[0] = TableIdentifier$.MODULE$.apply(name);
    values[1] = CatalogTableType$.MODULE$.EXTERNAL();
    values[2] = CatalogStorageFormat$.MODULE$.empty();
    values[3] = columns;
    Object statistics = new CatalogStatistics(
        BigInt$.MODULE$.apply(size), Option.apply(BigInt$.MODULE$.apply(rows)), scala.collection.immutable.Map$.MODULE$.empty());
    for (int i = 4; i < values.length; i++) {
      values[i] = types[i].toString().contains("CatalogStatistics")
          ? Option.apply(statistics)
          : CatalogTable$.MODULE$.getClass().getMethod("apply$default$" + (i + 1), new Class[0]).invoke(CatalogTable$.MODULE$, new Object[0]);
    }
    return (CatalogTable) constructor.newInstance(values);
  }

  /** Returns the numbers of sources whose DataFrames are gone, one a line, once. */
  public String released() {
    StringBuilder lines = new StringBuilder();
    for (Object source = released.poll(); source != null; source = released.poll()) lines.append(source).append('\n');
    return lines.toString();
  }

  /** Moves files, given as pairs of lines, and makes the directories that they go to. */
  public void move(FileSystem given, String lines) throws IOException {
    // Hadoop's local file system would move its checksum files along, and nobody needs them there.
    FileSystem files = given instanceof LocalFileSystem ? ((LocalFileSystem) given).getRawFileSystem() : given;
    String[] paths = lines.split("\n");
    java.util.Set made = new java.util.HashSet();
    for (int i = 0; i + 1 < paths.length; i += 2) {
      Path target = new Path(paths[i + 1]);
      if (made.add(target.getParent())) files.mkdirs(target.getParent());
      if (!files.rename(new Path(paths[i]), target)) throw new IOException(paths[i] + " could not be renamed to " + target);
    }
  }

  /** Asks Python on a thread of our own: each thread that ever called Python keeps a socket and a thread there. */
  byte[] ask(final byte[] question) {
    Object answer;
    try {
      answer = threads.submit(new Callable() {
        public Object call() { return python.apply(question); }
      }).get();
    } catch (ExecutionException error) {
      throw new RuntimeException("Python did not answer which files to read", error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new RuntimeException("Interrupted while waiting for the list of files", error);
    }
    byte[] bytes = (byte[]) answer;
    if (bytes[0] != 0) throw new ListingException(bytes);
    return bytes;
  }
}

/** Remembers that a DataFrame is gone. It must not refer to the index that it watches. */
class Release implements Runnable {
  private final ConcurrentLinkedQueue released;
  private final long source;

  Release(ConcurrentLinkedQueue released, long source) { this.released = released; this.source = source; }

  public void run() { released.add(Long.valueOf(source)); }
}

/** Carries a Python error through Spark: its text, and the error itself for whoever catches it in Python. */
public class ListingException extends RuntimeException {
  private final byte[] pickled;

  ListingException(byte[] answer) {
    super(text(answer));
    int start = 5 + length(answer);
    this.pickled = java.util.Arrays.copyOfRange(answer, start, answer.length);
  }

  public byte[] pickled() { return pickled; }

  private static int length(byte[] answer) { return java.nio.ByteBuffer.wrap(answer).getInt(1); }

  private static String text(byte[] answer) {
    return new String(answer, 5, length(answer), java.nio.charset.StandardCharsets.UTF_8);
  }
}

/** A table's root that says in query plans which version is read. */
class TableRoot extends Path {
  private final String label;

  TableRoot(Path root, String label) { super(root.toUri()); this.label = label; }

  public String toString() { return label; }
}

/** One version of a table as Spark's scan sees it. The class's name is shown in query plans. */
public class IndexTables implements FileIndex {
  private static final long BLOCK = 134217728L;
  private final Bridge bridge;
  private final long source;
  private final String identity;
  private final Path root;
  private final Seq roots;
  private final StructType partitionSchema;
  private final Attribute[] partitionColumns;
  private final InternalRow[] partitions;
  private final long size;

  IndexTables(Bridge bridge, long source, String identity, String label, Path root, StructType columns, byte[] partitions, long size) throws IOException {
    this.bridge = bridge;
    this.source = source;
    this.identity = identity;
    this.root = root;
    this.roots = CollectionConverters.asScala(java.util.Arrays.asList(new Object[] {new TableRoot(root, label)})).toIndexedSeq();
    this.size = size;
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(partitions));
    int width = in.readInt();
    this.partitions = new InternalRow[in.readInt()];
    for (int i = 0; i < this.partitions.length; i++) this.partitions[i] = new GenericInternalRow(width);
    StructField[] fields = new StructField[width];
    for (int i = 0; i < width; i++) {
      fields[i] = columns.apply(text(in));
      Object[] values = new Object[in.readInt()];
      for (int k = 0; k < values.length; k++) values[k] = value(text(in), fields[i].dataType());
      for (int row = 0; row < this.partitions.length; row++) {
        int code = in.readInt();
        if (code >= 0) this.partitions[row].update(i, values[code]); else this.partitions[row].setNullAt(i);
      }
    }
    this.partitionSchema = new StructType(fields);
    this.partitionColumns = new Attribute[width];
    for (int i = 0; i < width; i++) this.partitionColumns[i] = DataTypeUtils$.MODULE$.toAttribute(fields[i]);
  }

  private static String text(DataInputStream in) throws IOException {
    byte[] bytes = new byte[in.readInt()];
    in.readFully(bytes);
    return new String(bytes, "UTF-8");
  }

  private static Object value(String text, DataType type) {
    if (type instanceof StringType) return UTF8String.fromString(text);
    if (type instanceof BooleanType) return Boolean.valueOf(text);
    if (type instanceof ByteType) return Byte.valueOf(text);
    if (type instanceof ShortType) return Short.valueOf(text);
    if (type instanceof IntegerType || type instanceof DateType) return Integer.valueOf(text);
    if (type instanceof FloatType) return Float.valueOf(text);
    if (type instanceof DoubleType) return Double.valueOf(text);
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal$.MODULE$.apply(new BigDecimal(text), decimal.precision(), decimal.scale());
    }
    return Long.valueOf(text);
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream question = new DataOutputStream(bytes);
      byte[] kept = kept(partitionFilters);
      question.writeLong(source);
      question.writeInt(kept.length);
      question.write(kept);
      for (int i = 0; i < dataFilters.size(); i++) {
        byte[] text = translated((Expression) dataFilters.apply(i));
        if (text != null) { question.writeInt(text.length); question.write(text); }
      }
      return directories(bridge.ask(bytes.toByteArray()));
    } catch (IOException error) {
      throw new RuntimeException(error);
    }
  }

  /** One byte a partition: whether Spark's own evaluation keeps it. Spark does not check these filters again. */
  private byte[] kept(Seq filters) {
    byte[] kept = new byte[partitions.length];
    java.util.Arrays.fill(kept, (byte) 1);
    if (filters.isEmpty()) return kept;
    Expression all = (Expression) filters.apply(0);
    for (int i = 1; i < filters.size(); i++) all = new And(all, (Expression) filters.apply(i));
    Seq references = all.references().toSeq();
    List attributes = new ArrayList();
    for (int i = 0; i < partitionColumns.length; i++) {
      Attribute attribute = partitionColumns[i];
      for (int k = 0; k < references.size(); k++) {
        Attribute reference = (Attribute) references.apply(k);
        if (reference.name().equalsIgnoreCase(attribute.name())) attribute = reference;
      }
      attributes.add(attribute);
    }
    package$AttributeSeq input = new package$AttributeSeq(CollectionConverters.asScala(attributes).toIndexedSeq());
    BasePredicate predicate = Predicate$.MODULE$.createInterpreted((Expression) BindReferences$.MODULE$.bindReference(all, input, false));
    for (int i = 0; i < kept.length; i++) kept[i] = (byte) (predicate.eval(partitions[i]) ? 1 : 0);
    return kept;
  }

  /** The text of a filter in the words of Spark's data source interface, or null where it has none or none that is safe. */
  private static byte[] translated(Expression filter) throws IOException {
    Seq references = filter.references().toSeq();
    for (int i = 0; i < references.size(); i++) {
      Attribute reference = (Attribute) references.apply(i);
      // A file's own facts arrive under bare names, which a column of the table may have too; and an order by collation is not ours.
      if (MetadataAttribute$.MODULE$.isValid(reference.metadata())) return null;
      if (reference.metadata().contains("__file_source_metadata_col") || reference.metadata().contains("__file_source_constant_metadata_col")) return null;
      if (reference.dataType().catalogString().contains(" collate ")) return null;
    }
    Option translated = DataSourceStrategy$.MODULE$.translateFilter(filter, true);
    if (!translated.isDefined()) return null;
    try {
      return ((Filter) translated.get()).toV2().toString().getBytes("UTF-8");
    } catch (RuntimeException unknown) {
      return null;
    }
  }

  private Seq directories(byte[] answer) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(answer, 1, answer.length - 1));
    String prefix = root.toString() + "/";
    int count = in.readInt();
    int[] partition = new int[count];
    int[] length = new int[count];
    for (int i = 0; i < count; i++) partition[i] = in.readInt();
    for (int i = 0; i < count; i++) length[i] = in.readInt();
    List directories = new ArrayList(count);
    for (int i = 0; i < count; i++) {
      FileStatus[] files = new FileStatus[length[i]];
      for (int k = 0; k < files.length; k++) {
        String path = text(in);
        long bytes = in.readLong();
        files[k] = new FileStatus(bytes, false, 1, BLOCK, in.readLong(), new Path(prefix + path));
      }
      directories.add(PartitionDirectory$.MODULE$.apply(partitions[partition[i]], files));
    }
    return CollectionConverters.asScala(directories).toIndexedSeq();
  }

  public String[] inputFiles() {
    Seq none = (Seq) scala.collection.immutable.Nil$.MODULE$;
    List paths = new ArrayList();
    Seq directories = listFiles(none, none);
    for (int i = 0; i < directories.size(); i++) {
      Seq files = ((org.apache.spark.sql.execution.datasources.PartitionDirectory) directories.apply(i)).files();
      for (int k = 0; k < files.size(); k++)
        paths.add(((org.apache.spark.sql.execution.datasources.FileStatusWithMetadata) files.apply(k)).fileStatus().getPath().toUri().toString());
    }
    return (String[]) paths.toArray(new String[paths.size()]);
  }

  public Seq rootPaths() { return roots; }
  public void refresh() { }
  public long sizeInBytes() { return size; }
  public StructType partitionSchema() { return partitionSchema; }
  public Option metadataOpsTimeNs() { return Option.empty(); }
  public String toString() { return identity; }
  public int hashCode() { return identity.hashCode(); }
  public boolean equals(Object other) { return other instanceof IndexTables && ((IndexTables) other).identity.equals(identity); }
}
